/* Filters of this program have zero points: w = (q - zero[channel]) * unit[channel], of which q is stored.  What is
   multiplied is q; of a sum of products the zero point is taken off times the sum of the inputs. */
#ifndef EC_ZERO_POINTS_H
#define EC_ZERO_POINTS_H

#define EC_ZERO_POINTS 1

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#include <arm_acle.h>
#endif

/* The sum of n bytes. */
EC_SHARED int32_t ec_sum_of_inputs(const int8_t *in, int n)
{
    int32_t sum = 0;
    int i = 0;
#if defined(__ARM_FEATURE_MVE)
    for (; i < n; i += 16)
        sum = vaddvaq_p_s8(sum, vldrbq_z_s8(in + i, vctp8q((uint32_t)(n - i))), vctp8q((uint32_t)(n - i)));
#elif defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
    for (; i + 4 <= n; i += 4) { /* as unsigned bytes, 128 more */
        uint32_t four;
        memcpy(&four, in + i, sizeof four);
        sum = (int32_t)__usada8(four ^ 0x80808080u, 0, (uint32_t)sum);
    }
    sum -= 128 * i;
#endif
    for (; i < n; i++)
        sum += in[i];
    return sum;
}

/* A sum and four int16 side by side. */
EC_INLINE int32_t ec_add_four_inputs(int32_t sum, const int16_t *four)
{
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
    int16x2_t first, second;
    memcpy(&first, four, sizeof first);
    memcpy(&second, four + 2, sizeof second);
    return __smlad(second, 0x00010001, __smlad(first, 0x00010001, sum));
#else
    return sum + four[0] + four[1] + four[2] + four[3];
#endif
}

#endif
