/* What becomes of the int32 sums of a layer of integers, by fixed-point numbers (ec_int8_scaling.h), and what cores
   there are.  Sums begin with `start` of their channel: the bias, less the input's zero point times the
   sum of the filter, so that padding is the zero point and no loop subtracts it. */
#ifndef EC_INT8_CHANNELS_H
#define EC_INT8_CHANNELS_H

#include "ec_naked.h"

/* Armv7E-M and Armv8-M with DSP; Thumb of Armv7-A runs the same loops. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define EC_INT8_DSP
#include "ec_int8_dsp.h"
#endif
/* Armv6-M and Armv8-M Baseline. */
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1 && defined(__thumb__)
#define EC_INT8_THUMB_1
#endif
#if defined(__ARM_FEATURE_MVE)
#define EC_INT8_HELIUM
#endif

/* One per layer.  right <= 22; low and high lie in int8. */
typedef struct ec_int8_result {
    int32_t offset, right, low, high;
} ec_int8_result;

#include "ec_int8_scaling.h"
#ifdef EC_INT8_DSP
#include "ec_int8_dsp_results.h"
#endif

/* Adds the products of n numbers with each of four filters, which lie k-block by k-block: four numbers of each. */
EC_INLINE void ec_int8_add_products(const int8_t *in, int n, const int8_t *filters, int32_t sums[4])
{
    const int whole = n / 4 * 4;
    EC_NO_UNROLL
    for (int k = 0; k < whole; k += 4, filters += 16) {
        EC_UNROLL
        for (int p = 0; p < 16; p++)
            sums[p % 4] += in[k + p / 4] * filters[4 * (p % 4) + p / 4];
    }
    for (int k = whole; k < n; k++)
        for (int i = 0; i < 4; i++)
            sums[i] += in[k] * filters[4 * i + k % 4];
}

/* Bounds other than those of int8, which the kernels in assembly leave to this. */
EC_INLINE void ec_int8_bound(ec_int8_result result, int8_t *out, int n)
{
    if (result.low == INT8_MIN && result.high == INT8_MAX)
        return;
#ifdef EC_INT8_DSP
    for (; n >= 4; n -= 4, out += 4)
        ec_int8_bound_dsp(result.low, result.high, out);
#endif
    for (int i = 0; i < n; i++)
        out[i] = (int8_t)ec_min_i(ec_max_i(out[i], result.low), result.high);
}

#endif
