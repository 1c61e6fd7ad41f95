/* ec_tile_mac of a program whose tensors are all float32: it has this in the place of
   ec_tile_decoded.h. */

EC_INLINE void ec_tile_mac(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    (void)a_as;
    ec_tile_sum(tile, a, EC_F32, a_row, a_k, b, fmt, kc, mr, nv, lo, hi);
}
