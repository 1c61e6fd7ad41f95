/* Multiply-adds of register tiles of halves, eight filters a vector.  Included by ec_isa_neon_float16.h. */

#define EC_TILE_RUNS 1
#define EC_JOINED_COLUMNS 1 /* ec_tile_mac multiplies EC_VL channels by lane */
#define EC_LANES_OF(x) "x"(x)
#include "ec_runs_neon.h"

/* One channel: a pixel is loaded into every lane. */
EC_INLINE void ec_tile_mac1(ec_tile *tile, const char *a, int a_as, ptrdiff_t pixel, const char *stored, int fmt,
                            int mr, int nv, int lo, int hi)
{
    ec_vec filters[EC_TILE_VECS];
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        filters[j] = ec_load_at(stored, j * EC_VL, fmt);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        if (p < lo || p >= hi)
            continue;
        const ec_vec x = ec_set1_as(a + p * pixel, a_as);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            tile->acc[p * nv + j] = vfmaq_f16(tile->acc[p * nv + j], filters[j], x);
    }
}

/* sum + f * lane n of x, which instructions take from the first sixteen registers alone.  Assembly,
   because it adds in place, as in ec_isa_neon.h. */
EC_INLINE ec_vec ec_fma_lane(ec_vec sum, ec_vec filters, ec_vec x, int n)
{
    switch (n) {
    case 0: __asm__("fmla %0.8h, %1.8h, %2.h[0]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 1: __asm__("fmla %0.8h, %1.8h, %2.h[1]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 2: __asm__("fmla %0.8h, %1.8h, %2.h[2]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 3: __asm__("fmla %0.8h, %1.8h, %2.h[3]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 4: __asm__("fmla %0.8h, %1.8h, %2.h[4]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 5: __asm__("fmla %0.8h, %1.8h, %2.h[5]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    case 6: __asm__("fmla %0.8h, %1.8h, %2.h[6]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    default: __asm__("fmla %0.8h, %1.8h, %2.h[7]" : "+w"(sum) : "w"(filters), "x"(x)); break;
    }
    return sum;
}

EC_INLINE void ec_add_in_order(ec_vec *sum, ec_vec filters, ec_vec x, int n) { *sum = ec_fma_lane(*sum, filters, x, n); }

/* Channel `lane` of eight: the pixels' channels x[p] are in registers already. */
EC_INLINE void ec_tile_lane(ec_tile *tile, const char **stored, int fmt, const ec_vec *x, int lane, int mr, int nv,
                            int lo, int hi)
{
    ec_vec filters[EC_TILE_VECS];
    if (fmt == EC_F32) {
        EC_IN_ORDER();
        ec_load_run(filters, stored, nv);
    } else {
        EC_IN_ORDER();
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            filters[j] = ec_load_at(*stored, j * EC_VL, fmt);
        *stored += EC_STORED_SPAN(fmt, nv * EC_VL);
    }
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        if (p < lo || p >= hi)
            continue;
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            tile->acc[p * nv + j] = ec_fma_lane(tile->acc[p * nv + j], filters[j], x[p], lane);
    }
}

EC_INLINE void ec_tile_mac(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k, const void *b,
                           int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const ptrdiff_t channel = EC_STORED_SPAN(fmt, nv * EC_VL);
    const char *stored = b, *pixels = a;
    int k = 0;
    if (a_k == 1) /* eight channels lie side by side: multiply by lane, an eighth of the loads */
        EC_NO_UNROLL
        for (; k + EC_VL <= kc; k += EC_VL, pixels += EC_VL * stride) {
            ec_vec x[EC_TILE_VECS];
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                x[p] = p >= lo && p < hi ? ec_load_as(pixels + p * pixel, a_as) : ec_set1(0);
            EC_UNROLL
            for (int lane = 0; lane < EC_VL; lane++)
                ec_tile_lane(tile, &stored, fmt, x, lane, mr, nv, lo, hi);
        }
    EC_NO_UNROLL
    for (; k < kc; k++, pixels += stride, stored += channel)
        ec_tile_mac1(tile, pixels, a_as, pixel, stored, fmt, mr, nv, lo, hi);
}

/* Eight channels of all rows; *pixels and *stored move on to the next eight, which lie block_stride bytes further, and
   behind the filters. */
EC_INLINE void ec_tile_block(ec_tile *tile, const char **pixels, ptrdiff_t pixel, ptrdiff_t block_stride,
                             const char **stored, int mr, int nv)
{
    ec_vec x[EC_TILE_VECS];
    ec_load_beside(x, pixels, pixel, block_stride, mr);
    EC_UNROLL
    for (int lane = 0; lane < EC_VL; lane++)
        ec_tile_lane(tile, stored, EC_F32, x, lane, mr, nv, 0, mr);
}
#include "ec_tile_columns.h"

/* One channel of packed pixels, eight of them a load, by lane.  mr is a multiple of eight. */
EC_INLINE void ec_packed_mac1(ec_tile *tile, const ec_real *x_at, const ec_real *y_at, int mr, int nv)
{
    ec_vec y[EC_TILE_VECS];
    EC_IN_ORDER();
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        y[j] = ec_load(y_at + j * EC_VL);
    EC_UNROLL
    for (int p = 0; p < mr; p += EC_VL) {
        const ec_vec x = ec_load(x_at + p);
        EC_UNROLL
        for (int i = 0; i < EC_VL; i++) {
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                tile->acc[(p + i) * nv + j] = ec_fma_lane(tile->acc[(p + i) * nv + j], y[j], x, i);
        }
    }
}

#define EC_F32_MAC
EC_INLINE void ec_f32_mac(ec_tile *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k, const void *b, int depth,
                          int mr, int nv)
{
    const ec_real *x_at = a, *y_at = b;
    int k = 0;
    (void)a_row, (void)a_k; /* packed */
    EC_NO_UNROLL
    for (; k + 4 <= depth; k += 4, x_at += 4 * mr, y_at += 4 * nv * EC_VL) {
        EC_UNROLL
        for (int i = 0; i < 4; i++)
            ec_packed_mac1(tile, x_at + i * mr, y_at + i * nv * EC_VL, mr, nv);
    }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += mr, y_at += nv * EC_VL)
        ec_packed_mac1(tile, x_at, y_at, mr, nv);
}

#include "ec_f32_lanes.h"
