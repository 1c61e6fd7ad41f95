/* The micro-kernel f32 of an ISA that accumulates in ordinary vectors: float32 by float32.
   Meanings: see ec_micro_kernel.h.  Included by the ISA headers, some of which bring an ec_f32_mac of
   their own. */

typedef ec_tile ec_f32_sums;

EC_INLINE void ec_f32_init(ec_f32_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const float *const words = start;
    ec_tile_init(tile, by_rows ? NULL : words, mr, nv);
    if (!words || !by_rows)
        return;
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        tile->acc[i] = ec_set1(words[i / nv]);
}

EC_INLINE void ec_f32_read(const ec_f32_sums *tile, ec_vec *rows, int mr, int nv)
{
    ec_tile_read(tile, rows, mr, nv);
}

EC_INLINE void ec_f32_save(const ec_f32_sums *tile, void *words, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store((float *)words + i * EC_VL, tile->acc[i]);
}

EC_INLINE void ec_f32_load(ec_f32_sums *tile, const void *words, int mr, int nv)
{
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        tile->acc[i] = ec_load((const float *)words + i * EC_VL);
}

#ifndef EC_F32_MAC
EC_INLINE void ec_f32_mac(ec_f32_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    ec_tile_mac(tile, a, EC_F32, a_row / 4, a_k / 4, b, EC_F32, depth, mr, nv, 0, mr);
}
#endif
