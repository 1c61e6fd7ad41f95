/* Portable C: a vector of one float.  Every function here is the meaning of its counterparts in
   the other ISA headers, per lane. */
#ifndef EC_ISA_H
#define EC_ISA_H

#define EC_ISA_NAME "portable"
#define EC_VL 1         /* float32 lanes of an ec_vec */
#define EC_TILE_VECS 32 /* most vectors of accumulators in a tile */

typedef float ec_vec;

EC_INLINE ec_vec ec_load(const float *p) { return *p; }
EC_INLINE void ec_store(float *p, ec_vec v) { *p = v; }
/* The first n lanes, 0 <= n <= EC_VL; the others read as zero and are not written. */
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return n > 0 ? *p : 0.0f; }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n)
{
    if (n > 0)
        *p = v;
}

EC_INLINE ec_vec ec_set1(float x) { return x; }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return a + b; }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return a - b; }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return a * b; }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return a / b; }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return a * b + c; }
/* A NaN in a comes through: max(a, b) and min(a, b) give a where a is NaN. */
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return a < b ? b : a; }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return a > b ? b : a; }
/* NaN where either operand is (maximum and minimum of IEEE 754-2019). */
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return a < b || b != b ? b : a; }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return a > b || b != b ? b : a; }

EC_INLINE ec_vec ec_abs(ec_vec a) { return ec_from_bits(ec_bits(a) & 0x7fffffffu); }
/* a < b ? x : y, per lane. */
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y) { return a < b ? x : y; }
/* Magnitude of a, sign of b. */
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return ec_from_bits((ec_bits(a) & 0x7fffffffu) | (ec_bits(b) & 0x80000000u));
}
/* Nearest integer, ties to even, for |a| < 2^31; larger values are integers already. */
EC_INLINE ec_vec ec_round(ec_vec a)
{
    const float magnitude = ec_abs(a);
    const float sum = magnitude + 8388608.0f; /* 2^23: the sum has no room for a fraction */
    return ec_copysign(magnitude < 8388608.0f ? sum - 8388608.0f : magnitude, a);
}
/* 2^n for an integral n, -126 <= n <= 127; anything, but no trap, where n is NaN.  The sum puts
   n + 127 into the lowest bits: 12583039 is 1.5 * 2^23 + 127. */
EC_INLINE ec_vec ec_exp2i(ec_vec n) { return ec_from_bits(ec_bits(n + 12583039.0f) << 23); }
/* Exponent e and mantissa m of a positive normal number: a = m * 2^e, 1 <= m < 2. */
EC_INLINE ec_vec ec_exponent(ec_vec a) { return (float)((int32_t)(ec_bits(a) >> 23) - 127); }
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    return ec_from_bits((ec_bits(a) & 0x007fffffu) | 0x3f800000u);
}
/* Square root by Newton's iteration on the reciprocal root, corrected once; no libm, no branch. */
EC_INLINE ec_vec ec_sqrt(ec_vec a)
{
    const int small = a < 1e-30f; /* the iteration would underflow: take the root of 2^100 a */
    const float x = a * (small ? 1.2676506002282294e30f : 1.0f);
    float y = ec_from_bits(0x5f375a86u - (ec_bits(x) >> 1));
    EC_UNROLL
    for (int i = 0; i < 3; i++)
        y = y * (1.5f - 0.5f * x * y * y);
    const float root = x * y;
    const float positive =
        (root + 0.5f * y * (x - root * root)) * (small ? 1.0f / 1125899906842624.0f : 1.0f);
    const float other = a < 0.0f ? ec_from_bits(0x7fc00000u) : a; /* zeros, infinity, NaN */
    return a > 0.0f && a < ec_from_bits(0x7f800000u) ? positive : other;
}
/* p[0], p[stride], ... in the first n lanes; the others are zero. */
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    (void)stride;
    return ec_load_n(p, n);
}
/* Lanes [lo, hi) of the vector at p; the others read as zero and are not touched.  lo may be
   negative, hi beyond EC_VL, and the span empty. */
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    return lo <= 0 && hi > 0 ? *p : 0.0f;
}
/* Lanes n and up of a followed by the first n of b, 0 <= n < EC_VL: the window that a vector shift
   across two registers sees.  n is a constant once inlined. */
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    (void)b, (void)n;
    return a;
}
/* Lanes 0, 2, 4 ... and 1, 3, 5 ... of a followed by b. */
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    *even = a;
    *odd = b;
}
/* p[index[0]], p[index[1]], ... in the first n lanes; the others are zero. */
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    return n > 0 ? p[*index] : 0.0f;
}
/* The EC_VL x EC_VL matrix of which v holds the rows becomes the one of which it holds the columns. */
EC_INLINE void ec_transpose(ec_vec v[EC_VL]) { (void)v; }

EC_INLINE float ec_reduce_add(ec_vec a) { return a; }
/* As ec_maximum and ec_minimum: NaN if a lane is. */
EC_INLINE float ec_reduce_max(ec_vec a) { return a; }
EC_INLINE float ec_reduce_min(ec_vec a) { return a; }

#include "ec_stored_portable.h"
#include "ec_tile_lanes.h"

/* tile[p][j] += sum over k < kc of a[p * a_row + k * a_k] * b[(k * nv + j) * EC_VL ...], for the rows
   p in [lo, hi) of the mr; the other rows stay as they are.  a is stored as a_as and b
   as fmt: decoded in registers, a once for all vectors, b once for all rows.  Strides count
   elements. */
EC_INLINE void ec_tile_mac(ec_tile *tile, const void *a, int a_as, ptrdiff_t a_row, ptrdiff_t a_k,
                           const void *b, int fmt, int kc, int mr, int nv, int lo, int hi)
{
    const int row = EC_STORED_SPAN(fmt, nv * EC_VL); /* bytes */
    const ptrdiff_t pixel = a_row * EC_STORED_BYTES(a_as), stride = a_k * EC_STORED_BYTES(a_as);
    const char *stored = b, *pixels = a;
    EC_NO_UNROLL
    for (int k = 0; k < kc; k++, pixels += stride, stored += row) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            if (p < lo || p >= hi)
                continue;
            const ec_vec x = ec_set1_as(pixels + p * pixel, a_as);
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                tile->acc[p * nv + j] = ec_fma(x, ec_load_at(stored, j * EC_VL, fmt), tile->acc[p * nv + j]);
        }
    }
}

#include "ec_f32_lanes.h"

#endif
