/* The micro-kernel f32 of an ISA that accumulates in ordinary vectors: float32 by float32.
   Meanings: see ec_micro_kernel.h.  Included by the ISA headers, some of which bring an ec_f32_mac of
   their own. */

typedef ec_tile ec_f32_sums;

EC_INLINE void ec_f32_init(ec_f32_sums *tile, int mr, int nv) { ec_tile_init(tile, NULL, mr, nv); }

EC_INLINE void ec_f32_read(const ec_f32_sums *tile, ec_vec *rows, int mr, int nv)
{
    ec_tile_read(tile, rows, mr, nv);
}

#ifndef EC_F32_MAC
EC_INLINE void ec_f32_mac(ec_f32_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    ec_tile_mac(tile, a, EC_F32, a_row / 4, a_k / 4, b, EC_F32, depth, mr, nv, 0, mr);
}
#endif
