/* ec_tile_mac for an ISA where loading a pixel into every lane costs no more than any load: the
   filters of a step wait in registers while its pixels pass by.  Included after ec_tile_lanes.h.
   EC_HALF_VECTORS: a multiply-add of half the lanes, ec_fma_half, costs half as much, and one that
   loads a pixel itself less than a register for it, although each pixel is then loaded for every
   vector of filters.  A pixel that is decoded has a register anyhow. */

/* One step of a tile of one row: filters that are decoded for it alone come one vector at a time. */
EC_INLINE void ec_tile_row(ec_tile *tile, const char *a, int a_as, const char *stored, int fmt, int nv)
{
    const ec_vec decoded = ec_set1_as(a, a_as);
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        EC_IN_ORDER();
        const ec_vec filters = ec_load_at(stored, j * EC_VL, fmt);
        tile->acc[j] = ec_fma(a_as == EC_F32 ? ec_set1_as(a, EC_F32) : decoded, filters, tile->acc[j]);
    }
}

#ifdef EC_HALF_VECTORS
/* x: the pixel.  half: anything may come into the upper half of the lanes. */
EC_INLINE ec_vec ec_tile_fma(const void *x, ec_vec filters, ec_vec sum, int half)
{
    return half ? ec_fma_half(x, filters, sum) : ec_fma(ec_set1_as(x, EC_F32), filters, sum);
}
#endif

/* A pixel, decoded if need be, goes to all lanes in one instruction.  half: of the last vector only the
   lower half of the lanes is wanted. */
EC_INLINE void ec_tile_add(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                             const void *b, int fmt, int kc, int mr, int nv, int lo, int hi, int half)
{
    const int row = EC_STORED_SPAN(fmt, nv * EC_VL); /* bytes */
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const char *stored = b, *pixels = a;
    (void)half; /* where pixels are no operands */
    EC_NO_UNROLL
    for (int k = 0; k < kc; k++, pixels += stride, stored += row) {
        ec_vec filters[EC_TILE_VECS];
        if (fmt != EC_F32 && mr == 1) {
            if (lo < 1 && hi > 0)
                ec_tile_row(tile, pixels, a_as, stored, fmt, nv);
            continue;
        }
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            filters[j] = ec_load_at(stored, j * EC_VL, fmt);
#ifdef EC_HALF_VECTORS
        EC_UNROLL
        for (int j = 0; a_as == EC_F32 && j < nv; j++) {
            EC_IN_ORDER();
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                if (p >= lo && p < hi)
                    tile->acc[p * nv + j] = ec_tile_fma(pixels + p * pixel, filters[j], tile->acc[p * nv + j],
                                                        half && j == nv - 1);
        }
        if (a_as == EC_F32)
            continue;
#endif
        if (mr > 1)
            EC_IN_ORDER(); /* or GCC loads a filter again for every pixel, and accumulators move */
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            if (p < lo || p >= hi)
                continue;
            const ec_vec x = ec_set1_as(pixels + p * pixel, a_as);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                tile->acc[p * nv + j] = ec_fma(x, filters[j], tile->acc[p * nv + j]);
        }
    }
}
EC_INLINE void ec_tile_sum(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    ec_tile_add(tile, a, a_as, a_row, a_k, b, fmt, kc, mr, nv, lo, hi, 0);
}
#ifdef EC_HALF_VECTORS
/* ec_tile_mac of float32 that leaves the upper half of the last vector's lanes out. */
EC_INLINE void ec_tile_mac_half(ec_tile *tile, const void *a, ptrdiff_t a_row, const void *b, int fmt, int kc,
                                int mr, int nv, int lo, int hi)
{
    ec_tile_add(tile, a, EC_F32, a_row, 1, b, fmt, kc, mr, nv, lo, hi, 1);
}
#endif

#include "ec_tile_decoded.h"
