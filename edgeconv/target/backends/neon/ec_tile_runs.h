/* Four channels of a register tile, filters four vectors by a load.  Included by ec_isa_neon.h. */
#define EC_LANES_OF(x) "w"(x)
#include "ec_runs_neon.h"

/* Rows [lo, hi) of the tile, the next `pixel` bytes behind the one before.  *pixels moves on by `stride` bytes, *stored
   behind the filters.  Both in float32. */
EC_INLINE void ec_tile_by_runs(ec_tile *tile, const char **pixels, ptrdiff_t pixel, ptrdiff_t stride,
                               const char **stored, int mr, int nv, int lo, int hi)
{
    const int run = mr * nv + mr + 4 <= 32 ? 4 : nv; /* in registers at once, of which all may be taken: so all is in order */
    const char *at = *pixels + lo * pixel;
    ec_vec x[EC_TILE_VECS];
    EC_IN_ORDER();
    ec_load_beside(x + lo, &at, pixel, stride, hi - lo);
    *pixels = at - lo * pixel;
    EC_UNROLL
    for (int first = 0; first < 4 * nv; first += run) {
        ec_vec filters[EC_TILE_VECS];
        ec_load_run(filters, stored, run);
        EC_UNROLL
        for (int i = 0; i < run; i++) {
            const int channel = (first + i) / nv, j = (first + i) % nv;
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                if (p >= lo && p < hi)
                    ec_add_in_order(&tile->acc[p * nv + j], filters[i], x[p], channel);
        }
    }
}

/* One channel of the outer product; packed operands move on.  mr is a multiple of four: four pixels are a vector, by
   lane. */
EC_INLINE void ec_packed_mac1(ec_tile *tile, const char **pixels, const char **filters, int mr, int nv)
{
    ec_vec x[EC_TILE_VECS], y[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr / 4; p += 4)
        ec_load_run(x + p, pixels, ec_min_i(mr / 4 - p, 4));
    EC_UNROLL
    for (int j = 0; j < nv; j += 4)
        ec_load_run(y + j, filters, ec_min_i(nv - j, 4));
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_add_in_order(&tile->acc[p * nv + j], y[j], x[p / 4], p % 4);
    }
}
