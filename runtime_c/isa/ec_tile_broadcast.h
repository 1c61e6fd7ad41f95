/* ec_tile_mac for an ISA where loading a pixel into every lane costs no more than any load: the
   filters of a step wait in registers while its pixels pass by.  Included after ec_tile_lanes.h.
   EC_BROADCAST_OPERANDS: a multiply-add that loads a pixel itself costs less than a register for it,
   although each pixel is then loaded for every vector of filters. */

/* One step of a tile of one row: filters that are decoded for it alone come one vector at a time. */
EC_INLINE void ec_tile_row(ec_tile *t, const float *a, const char *w, int fmt, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        EC_STEP();
        const ec_vec f = ec_load_as(w + j * EC_VL * EC_STORED_BYTES(fmt), fmt);
        t->acc[j] = ec_fma(ec_set1(*a), f, t->acc[j]);
    }
}

EC_INLINE void ec_tile_mac(ec_tile *t, const float *a, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int vec = EC_VL * EC_STORED_BYTES(fmt);
    const char *w = b;
    EC_NO_UNROLL
    for (int k = 0; k < kc; k++, a += a_k, w += nv * vec) {
        ec_vec f[EC_TILE_VECS];
        if (fmt != EC_F32 && mr == 1) {
            if (lo < 1 && hi > 0)
                ec_tile_row(t, a, w, fmt, nv);
            continue;
        }
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            f[j] = ec_load_as(w + j * vec, fmt);
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
