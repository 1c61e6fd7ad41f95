/* Functions of two numbers of int8, with results

       q = min(max(number >> right, low), high)

   Whoever chooses the numbers proves for all 65,536 pairs that nothing overflows and that q is what the model
   says.  An operand of the result's size may be the result.  Needs ec_integers_<isa>.h; without that there is
   nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_INT8_PAIR_H
#define EC_INT8_PAIR_H

#include "ec_scaling.h"

/* Of a sum a * by_a + b * by_b + offset; ties: 1 where halves of a step are to become even (ec_scaling_ties.h).  Of a product (a - zero_a) * (b - zero_b) + start, scaled
   (ec_scaling.h).  Where b is one for many, of a linear function of a: a * factors[b] + offsets[b]. */
typedef struct ec_int8_pair {
    int right, low, high, offset;
    int by_a, by_b, ties;
    int product, zero_a, zero_b, start, multiplier, shift;
} ec_int8_pair;

EC_INLINE ec_ivec ec_int8_of_pair(const ec_int8_pair spec, ec_ivec a, ec_ivec b)
{
    if (spec.product) {
        const ec_ivec from_a = ec_iadd(a, ec_iset1(-spec.zero_a)), from_b = ec_iadd(b, ec_iset1(-spec.zero_b));
        const ec_ivec started = ec_iadd(ec_imul(from_a, from_b), ec_iset1(spec.start));
        return ec_scaled(started, ec_scaling_of(spec.multiplier, spec.shift, spec.offset), spec.offset, spec.right);
    }
    const ec_ivec number = ec_iadd(ec_imul(a, ec_iset1(spec.by_a)), ec_imul(b, ec_iset1(spec.by_b)));
    return ec_ishift_right(ec_to_even(ec_iadd(number, ec_iset1(spec.offset)), spec.right, spec.ties), spec.right);
}

/* n pairs. */
EC_INLINE void ec_int8_pairs(const ec_int8_pair spec, const int8_t *a, const int8_t *b, int8_t *out, int n)
{
    int i = 0;
    for (; i + 4 * EC_VL <= n; i += 4 * EC_VL) {
        ec_ivec x[4], y[4];
        ec_iload_s8_run(a + i, x);
        ec_iload_s8_run(b + i, y);
        EC_UNROLL
        for (int k = 0; k < 4; k++)
            x[k] = ec_int8_of_pair(spec, x[k], y[k]);
        ec_istore_s8_run(out + i, x, spec.low, spec.high);
    }
    for (; i < n; i += EC_VL) {
        const int count = ec_min_i(EC_VL, n - i);
        const ec_ivec q = ec_int8_of_pair(spec, ec_iload_s8(a + i, count), ec_iload_s8(b + i, count));
        ec_istore_s8(out + i, ec_ibetween(q, spec.low, spec.high), count);
    }
}

/* `images` of `pixels` of `channels` side by side; b has a number for each channel, from an image to the next
   b_image further. */
EC_INLINE void ec_int8_pairs_by_channel(const ec_int8_pair spec, const int8_t *a, const int8_t *b, int8_t *out,
                                        int images, int b_image, int pixels, int channels)
{
    for (int image = 0; image < images; image++, b += b_image)
        for (int p = 0; p < pixels; p++, a += channels, out += channels)
            ec_int8_pairs(spec, a, b, out, channels);
}

/* n numbers of a, whose factors and offsets lie side by side, or are the same for all (`apart` is 0). */
EC_INLINE void ec_int8_linear(const ec_int8_pair spec, const int8_t *a, const int32_t *factors,
                              const int32_t *offsets, int apart, int8_t *out, int n)
{
    const ec_ivec factor = ec_iset1(*factors), offset = ec_iset1(*offsets);
    int i = 0;
    for (; i + 4 * EC_VL <= n; i += 4 * EC_VL) {
        ec_ivec x[4];
        ec_iload_s8_run(a + i, x);
        EC_UNROLL
        for (int k = 0; k < 4; k++) {
            const ec_ivec by = apart ? ec_iload(factors + i + k * EC_VL) : factor;
            const ec_ivec plus = apart ? ec_iload(offsets + i + k * EC_VL) : offset;
            x[k] = ec_ishift_right(ec_iadd(ec_imul(x[k], by), plus), spec.right);
        }
        ec_istore_s8_run(out + i, x, spec.low, spec.high);
    }
    for (; i < n; i += EC_VL) { /* there are whole vectors of words */
        const int count = ec_min_i(EC_VL, n - i);
        const ec_ivec by = apart ? ec_iload(factors + i) : factor, plus = apart ? ec_iload(offsets + i) : offset;
        const ec_ivec q = ec_ishift_right(ec_iadd(ec_imul(ec_iload_s8(a + i, count), by), plus), spec.right);
        ec_istore_s8(out + i, ec_ibetween(q, spec.low, spec.high), count);
    }
}

/* `images` of `pixels` of `channels` side by side; b has a number for each channel, from an image to the next
   b_image further.  words: 256 factors, by b as uint8, and 256 offsets.  own: room for `room` factors and as
   many offsets, `room` being `channels` rounded up to whole vectors. */
EC_INLINE void ec_int8_by_channel(const ec_int8_pair spec, const int32_t *words, const int8_t *a, const int8_t *b,
                                  int8_t *out, int32_t *own, int images, int b_image, int pixels, int channels,
                                  int room)
{
    for (int image = 0; image < images; image++, b += b_image) {
        if (!image || b_image)
            for (int c = 0; c < channels; c++) {
                own[c] = words[(uint8_t)b[c]];
                own[room + c] = words[256 + (uint8_t)b[c]];
            }
        for (int p = 0; p < pixels; p++, a += channels, out += channels)
            ec_int8_linear(spec, a, own, own + room, 1, out, channels);
    }
}

/* A tensor of planes, whose `pixels` of a channel lie side by side, and an operand of one number per channel. */
EC_INLINE void ec_int8_by_plane(const ec_int8_pair spec, const int32_t *words, const int8_t *a, const int8_t *b,
                                int8_t *out, int images, int b_image, int pixels, int channels)
{
    for (int image = 0; image < images; image++, b += b_image)
        for (int c = 0; c < channels; c++, a += pixels, out += pixels) {
            const int32_t *const word = words + (uint8_t)b[c];
            ec_int8_linear(spec, a, word, word + 256, 0, out, pixels);
        }
}

#endif
#endif
