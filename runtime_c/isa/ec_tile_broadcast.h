/* ec_tile_mac for an ISA where loading a pixel into every lane costs no more than any load: the
   filters of a step wait in registers while its pixels pass by.  Included after ec_tile_lanes.h.
   EC_BROADCAST_OPERANDS: a multiply-add that loads a pixel itself costs less than a register for it,
   although each pixel is then loaded for every vector of filters. */

EC_INLINE void ec_tile_mac(ec_tile *t, const float *a, ptrdiff_t a_row, ptrdiff_t a_k,
                           const float *b, int kc, int mr, int nv, int lo, int hi)
{
    EC_NO_UNROLL
    for (int k = 0; k < kc; k++, a += a_k, b += nv * EC_VL) {
        ec_vec f[EC_TILE_VECS];
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = ec_load(b + j * EC_VL);
#ifdef EC_BROADCAST_OPERANDS
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            EC_STEP();
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                if (p >= lo && p < hi)
                    t->acc[p * nv + j] = ec_fma(ec_set1(a[p * a_row]), f[j], t->acc[p * nv + j]);
        }
#else
        if (mr > 1)
            EC_STEP(); /* or GCC loads a filter again for every pixel, and accumulators move */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            if (p < lo || p >= hi)
                continue;
            const ec_vec x = ec_set1(a[p * a_row]);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                t->acc[p * nv + j] = ec_fma(x, f[j], t->acc[p * nv + j]);
        }
#endif
    }
}
