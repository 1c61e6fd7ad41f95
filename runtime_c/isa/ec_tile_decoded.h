/* ec_tile_mac for inputs in any storage format, on top of an ISA's ec_tile_sum, which takes float32 and
   single elements that are decoded one by one.  Included by the ISA headers. */

/* Neighbouring channels are decoded a vector at a time and put into memory, from where they
   come as in float32: to decode each where it is used costs more than the multiply-adds hide, or
   registers that sums take. */
EC_INLINE void ec_tile_mac(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int alone = EC_IS_CONSTANT(kc) && kc == 1;
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as);
    const char *pixels = a, *stored = b;
    if (a_as == EC_F32 || a_k != 1 || alone) {
        ec_tile_sum(tile, a, a_as, a_row, a_k, b, fmt, kc, mr, nv, lo, hi);
        return;
    }
    EC_NO_UNROLL
    for (int k = 0; k < kc; k += EC_VL) {
        _Alignas(EC_VL * 4) float decoded[EC_TILE_VECS * EC_VL];
        int n = ec_min_i(EC_VL, kc - k);
        if (n == EC_VL) {
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                if (p >= lo && p < hi)
                    ec_store(decoded + p * EC_VL, ec_load_as(pixels + p * pixel, a_as));
        } else {
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                if (p >= lo && p < hi)
                    ec_store(decoded + p * EC_VL, ec_load_as_n(pixels + p * pixel, n, a_as));
        }
#if !defined(__clang__) && EC_VL == 4
        EC_UNKNOWN(n); /* or GCC takes a loop of few rounds apart, and spills */
#endif
        ec_tile_sum(tile, decoded, EC_F32, EC_VL, 1, stored, fmt, n, mr, nv, lo, hi);
        pixels += EC_VL * EC_STORED_BYTES(a_as);
        stored += EC_STORED_SPAN(fmt, nv * EC_VL) * EC_VL;
    }
}
