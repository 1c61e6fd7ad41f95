/* A vector of any length, in C with vectors as GCC and Clang have them, for any processor: lane by lane
   where these have no operator.  Meanings: see ec_isa_portable.h. */
#ifndef EC_ISA_H
#define EC_ISA_H

#define EC_VL (EC_VECTOR_BITS / 32)
#ifndef EC_TILE_VECS
#define EC_TILE_VECS 16
#endif

typedef float ec_vec __attribute__((vector_size(EC_VECTOR_BITS / 8)));
typedef int32_t ec_mask __attribute__((vector_size(EC_VECTOR_BITS / 8)));
typedef uint32_t ec_word __attribute__((vector_size(EC_VECTOR_BITS / 8)));

/* X of every lane i. */
#define EC_LANES(X)                                                                                \
    do {                                                                                           \
        EC_UNROLL                                                                                  \
        for (int i = 0; i < EC_VL; i++) {                                                          \
            X;                                                                                     \
        }                                                                                          \
    } while (0)

EC_INLINE ec_vec ec_load(const float *p)
{
    ec_vec v;
    EC_COPY(&v, p, sizeof v);
    return v;
}
EC_INLINE void ec_store(float *p, ec_vec v) { EC_COPY(p, &v, sizeof v); }
EC_INLINE ec_vec ec_set1(float x)
{
    ec_vec v;
    EC_LANES(v[i] = x);
    return v;
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    ec_vec v = ec_set1(0.0f);
    EC_LANES(if (i >= lo && i < hi) v[i] = p[i]);
    return v;
}
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return ec_load_span(p, 0, n); }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { EC_LANES(if (i < n) p[i] = v[i]); }

EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return a + b; }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return a - b; }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return a * b; }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return a / b; }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return a * b + c; }
EC_INLINE ec_vec ec_choose(ec_mask mask, ec_vec x, ec_vec y)
{
    return (ec_vec)((mask & (ec_mask)x) | (~mask & (ec_mask)y));
}
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return ec_choose(a < b, b, a); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return ec_choose(a > b, b, a); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b) { return ec_choose((a < b) | (b != b), b, a); }
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b) { return ec_choose((a > b) | (b != b), b, a); }
EC_INLINE ec_vec ec_abs(ec_vec a) { return (ec_vec)((ec_word)a & 0x7fffffffu); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return ec_choose(a < b, x, y);
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return (ec_vec)(((ec_word)a & 0x7fffffffu) | ((ec_word)b & 0x80000000u));
}
EC_INLINE ec_vec ec_round(ec_vec a)
{
    const ec_vec magnitude = ec_abs(a), edge = ec_set1(8388608.0f);
    ec_vec sum = magnitude + edge;
    EC_IN_ORDER(); /* or what is added is taken off again before it has rounded */
    sum = sum - edge;
    return ec_copysign(ec_choose(magnitude < edge, sum, magnitude), a);
}
EC_INLINE ec_vec ec_exp2i(ec_vec n) { return (ec_vec)((ec_word)(n + ec_set1(12583039.0f)) << 23); }
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    ec_vec v;
    EC_LANES(v[i] = (float)((int32_t)(((ec_word)a)[i] >> 23) - 127));
    return v;
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    return (ec_vec)(((ec_word)a & 0x007fffffu) | 0x3f800000u);
}
EC_INLINE float ec_sqrt_of(float a)
{
    const int small = a < 1e-30f;
    const float x = a * (small ? 1.2676506002282294e30f : 1.0f);
    float y = ec_from_bits(0x5f375a86u - (ec_bits(x) >> 1));
    for (int i = 0; i < 3; i++)
        y = y * (1.5f - 0.5f * x * y * y);
    const float root = x * y;
    const float positive =
        (root + 0.5f * y * (x - root * root)) * (small ? 1.0f / 1125899906842624.0f : 1.0f);
    const float other = a < 0.0f ? ec_from_bits(0x7fc00000u) : a;
    return a > 0.0f && a < ec_from_bits(0x7f800000u) ? positive : other;
}
EC_INLINE ec_vec ec_sqrt(ec_vec a)
{
    ec_vec v;
    EC_LANES(v[i] = ec_sqrt_of(a[i]));
    return v;
}
EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    ec_vec v = ec_set1(0.0f);
    EC_LANES(if (i < n) v[i] = p[i * stride]);
    return v;
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    ec_vec v = ec_set1(0.0f);
    EC_LANES(if (i < n) v[i] = p[index[i]]);
    return v;
}
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    ec_vec v;
    EC_LANES(v[i] = i + n < EC_VL ? a[(i + n) % EC_VL] : b[(i + n) % EC_VL]);
    return v;
}
EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    ec_vec e, o;
    EC_LANES(e[i] = 2 * i < EC_VL ? a[2 * i % EC_VL] : b[2 * i % EC_VL]);
    EC_LANES(o[i] = 2 * i < EC_VL ? a[(2 * i + 1) % EC_VL] : b[(2 * i + 1) % EC_VL]);
    *even = e;
    *odd = o;
}
EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    float rows[EC_VL][EC_VL];
    for (int i = 0; i < EC_VL; i++)
        ec_store(rows[i], v[i]);
    for (int i = 0; i < EC_VL; i++)
        for (int j = 0; j < EC_VL; j++)
            v[i][j] = rows[j][i];
}
EC_INLINE float ec_reduce_add(ec_vec a)
{
    float sum = 0.0f;
    EC_LANES(sum += a[i]);
    return sum;
}
EC_INLINE float ec_reduce_max(ec_vec a)
{
    float x = a[0];
    EC_LANES(x = x < a[i] || a[i] != a[i] ? a[i] : x);
    return x;
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    float x = a[0];
    EC_LANES(x = x > a[i] || a[i] != a[i] ? a[i] : x);
    return x;
}

#include "ec_stored_vectors.h"
#include "ec_tile_lanes.h"
#include "ec_tile_broadcast.h"
#include "ec_f32_lanes.h"

#endif
