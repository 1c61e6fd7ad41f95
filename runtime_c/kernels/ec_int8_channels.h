/* What becomes of the int32 sums of a layer of integers, by fixed-point numbers:

       q = min(max((high_word(sum * multiplier[channel]) + offset) >> right, low), high)

   high_word: the upper 32 bits of the product of 64, floor(product / 2^32); >> of negative numbers is
   arithmetic.  Sums begin with `start` of their channel: the bias, less the input's zero point times the
   sum of the filter, so that padding is the zero point and no loop subtracts it.  Whoever chooses the
   numbers proves that nothing overflows and that q is what the model says. */
#ifndef EC_INT8_CHANNELS_H
#define EC_INT8_CHANNELS_H

/* Armv7E-M and Armv8-M with DSP; Thumb of Armv7-A runs the same loops. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define EC_INT8_DSP
#include "../isa/ec_int8_dsp.h"
#endif
#if defined(__ARM_FEATURE_MVE)
#define EC_INT8_HELIUM
#endif

/* One per layer.  1 <= right <= 22; low and high lie in int8. */
typedef struct ec_int8_result {
    int32_t offset, right, low, high;
} ec_int8_result;

EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, int32_t multiplier)
{
    const int32_t word = (int32_t)(((int64_t)sum * multiplier) >> 32);
    return (int8_t)ec_min_i(ec_max_i((word + result.offset) >> result.right, result.low), result.high);
}

/* Bounds other than those of int8, which the kernels in assembly leave to this. */
EC_INLINE void ec_int8_bound(ec_int8_result result, int8_t *out, int n)
{
    if (result.low == INT8_MIN && result.high == INT8_MAX)
        return;
    for (int i = 0; i < n; i++)
        out[i] = (int8_t)ec_min_i(ec_max_i(out[i], result.low), result.high);
}

#endif
