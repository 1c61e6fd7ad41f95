/* The micro-kernel f32 on RVV: float32 by float32, in the register tile.  Meanings: see ec_micro_kernel.h.
   Included by ec_rvv.h. */

typedef ec_tile ec_f32_sums;

EC_INLINE void ec_f32_init(ec_f32_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const float *const words = start;
    const int group = ec_group_of(nv), each = nv / group;
    ec_tile_init(tile, by_rows ? NULL : words, mr, nv);
    if (!words || !by_rows)
        return;
    EC_UNROLL
    for (int i = 0; i < mr * each; i++)
        ec_tile_put(tile, i, ec_group_set1(words[i / each], group), group);
}

EC_INLINE void ec_f32_read(const ec_f32_sums *tile, ec_vec *rows, int mr, int nv)
{
    ec_tile_read(tile, rows, mr, nv);
}

EC_INLINE void ec_f32_save(const ec_f32_sums *tile, void *words, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store((float *)words + i * EC_VL, ec_tile_vector(tile, i, ec_group_of(nv)));
}

EC_INLINE void ec_f32_load(ec_f32_sums *tile, const void *words, int mr, int nv)
{
    const int group = ec_group_of(nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv / group; i++)
        ec_tile_put(tile, i, ec_group_load((const float *)words + i * group * EC_VL, group), group);
}

EC_INLINE void ec_f32_mac(ec_f32_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    ec_tile_mac(tile, a, EC_F32, a_row / 4, a_k / 4, b, EC_F32, depth, mr, nv, 0, mr);
}
