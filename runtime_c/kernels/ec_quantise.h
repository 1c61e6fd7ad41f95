/* Between real numbers and the integers that stand for them: real = (integer - zero) * scale.
   type is that of the integers.  Needs ec_lanes.h. */
#ifndef EC_QUANTISE_H
#define EC_QUANTISE_H

/* EC_VL numbers to whole ones from lo to hi: rounded to nearest, ties to even, before the zero point
   is added, as ONNX has it. */
EC_INLINE void ec_quantise_lanes(ec_vec x, float scale, float zero, float lo, float hi, float *out)
{
    const ec_vec whole = ec_add(ec_round(ec_div(x, ec_set1(scale))), ec_set1(zero));
    ec_store(out, ec_min(ec_max(whole, ec_set1(lo)), ec_set1(hi)));
}

/* n numbers to whole ones from 0 to 255, stored as out_as: as those. */
EC_INLINE void ec_dynamic_quantise(const void *x, int x_as, float scale, float zero, void *out, int out_as,
                                   ptrdiff_t n)
{
    const ec_vec by = ec_set1(scale), to = ec_set1(zero), low = ec_set1(0.0f), high = ec_set1(255.0f);
    for (ptrdiff_t i = 0; i < n; i += EC_VL) {
        const int lanes = n - i < EC_VL ? (int)(n - i) : EC_VL;
        const ec_vec whole = ec_add(ec_round(ec_div(ec_read_as(x, i, lanes, x_as), by)), to);
        ec_write_as(out, i, ec_min(ec_max(whole, low), high), lanes, out_as);
    }
}

/* One number, less 128. */
EC_RARE int8_t ec_quantise_divided(float x, float scale, float zero)
{
    float whole[EC_VL];
    ec_quantise_lanes(ec_set1(x), scale, zero, 0.0f, 255.0f, whole);
    return (int8_t)((int)whole[0] - 128);
}

/* Integers of numbers whose range scale and zero are made of (ec_dynamic_range.h), without a division: x / scale is
   between -256 and 256, and its integer never below 0.  A product with 1 / scale is within two units of that quotient in
   float32, so that both are rounded alike but next to the middle between two integers, where it is divided; as everything is
   where 1 / scale has not the digits of a float32.  An integer is 256 where zero was rounded up from such a middle, so that
   x / scale is next to one too. */
EC_INLINE int ec_has_reciprocal(float scale) { return scale > 1e-34f && scale < 1e37f; }

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_FMA) && defined(__thumb2__)
#include "ec_quantise_dsp.h"
#endif

/* Fourteen digits behind the point in integers of 32 bits; what is within 32 units of a middle is divided. */
enum { EC_RANGED_DIGITS = 14, EC_RANGED_NEAR = 32 };

EC_INLINE int8_t ec_quantise_ranged(float x, float by, int32_t added, float scale, float zero)
{
    const int32_t at = (int32_t)(x * by) + added;
    if (!(at & ((1 << EC_RANGED_DIGITS) - 2 * EC_RANGED_NEAR)))
        return ec_quantise_divided(x, scale, zero);
    return (int8_t)(at >> EC_RANGED_DIGITS); /* rounded down */
}

EC_SHARED void ec_dynamic_quantise_ranged(const float *x, float scale, float zero, int8_t *out, ptrdiff_t n)
{
    const int whole = 1 << EC_RANGED_DIGITS;
    ptrdiff_t i = 0;
    if (!ec_has_reciprocal(scale)) {
        for (; i < n; i++)
            out[i] = ec_quantise_divided(x[i], scale, zero);
        return;
    }
    const int32_t added = ((int32_t)zero - 128) * whole + whole / 2 + EC_RANGED_NEAR;
    const float by = (float)whole / scale;
#ifdef EC_QUANTISE_BY_EIGHT
    for (; i + 8 <= n; i += 8)
        ec_quantise_eight(x + i, by / (float)whole, scale, zero, out + i);
#else
    for (; i + 4 <= n; i += 4) {
        EC_UNROLL
        for (int k = 0; k < 4; k++)
            out[i + k] = ec_quantise_ranged(x[i + k], by, added, scale, zero);
    }
#endif
    for (; i < n; i++)
        out[i] = ec_quantise_ranged(x[i], by, added, scale, zero);
}

/* x_as, out_as: the formats of the real numbers (ec_stored.h). */
#define EC_QUANTISE(type, x, out, n, scale, zero, lo, hi, x_as)                               \
    do {                                                                                      \
        const void *const x_ = (x);                                                           \
        type *const out_ = (out);                                                             \
        const ptrdiff_t n_ = (n);                                                             \
        for (ptrdiff_t j_ = 0; j_ < n_; j_ += EC_VL) {                                        \
            const int count_ = n_ - j_ < EC_VL ? (int)(n_ - j_) : EC_VL;                       \
            float whole_[EC_VL];                                                              \
            ec_quantise_lanes(ec_read_as(x_, j_, count_, x_as), scale, zero, lo, hi, whole_);  \
            for (int k_ = 0; k_ < count_; k_++)                                                \
                out_[j_ + k_] = (type)(whole_[k_] >= (lo) ? whole_[k_] : (lo)); /* lo of NaN */ \
        }                                                                                     \
    } while (0)

#define EC_DEQUANTISE(type, x, out, n, scale, zero, out_as)                                   \
    do {                                                                                      \
        const type *const x_ = (x);                                                           \
        void *const out_ = (out);                                                             \
        const ptrdiff_t n_ = (n);                                                             \
        for (ptrdiff_t j_ = 0; j_ < n_; j_ += EC_VL) {                                        \
            const int count_ = n_ - j_ < EC_VL ? (int)(n_ - j_) : EC_VL;                       \
            float real_[EC_VL] = {0};                                                         \
            for (int k_ = 0; k_ < count_; k_++)                                                \
                real_[k_] = ((float)x_[j_ + k_] - (zero)) * (scale);                          \
            ec_write_as(out_, j_, ec_load(real_), count_, out_as);                             \
        }                                                                                     \
    } while (0)

#endif
