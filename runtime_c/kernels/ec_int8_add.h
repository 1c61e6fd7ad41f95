/* Sums of two tensors of int8 that have scales of their own:

       q = min(max((a * by_a + b * by_b + offset) >> right, low), high)

   Where halves of a step are to become even numbers (ties is 1; ec_int8_scaling_ties.h), offset holds one half less 1 and
   the number's bit `right`, the lowest one of the result, is added first.
   by_a and by_b are the inputs' scales in units of the result's, times 2^right; offset holds the zero points and
   one half.  Whoever chooses the numbers proves for all 65,536 pairs that nothing overflows and that q is what the
   model says.  out may be either input.  Needs ec_int8_channels.h. */
#ifndef EC_INT8_ADD_H
#define EC_INT8_ADD_H

#ifdef EC_INT8_HELIUM
#include "ec_int8_helium.h"
#endif

EC_INLINE int ec_int8_sum(ec_int8_result result, int a, int b, int32_t by_a, int32_t by_b, int ties)
{
    return ec_int8_to_even(a * by_a + b * by_b + result.offset, result.right, ties) >> result.right;
}

EC_SHARED void ec_int8_add(const ec_int8_result *given, int32_t by_a, int32_t by_b, int ties,
                           const int8_t *a, const int8_t *b, int8_t *out, int n)
{
    const ec_int8_result result = *given;
#ifdef EC_INT8_HELIUM
    const int whole = n / 4 * 4;
    for (int i = 0; i < whole; i += 4)
        ec_int8_add_helium(result, by_a, by_b, ties, a + i, b + i, out + i);
    a += whole, b += whole, out += whole, n -= whole;
#endif
    if (result.low == INT8_MIN && result.high == INT8_MAX) /* an instruction saturates to these */
        for (int i = 0; i < n; i++)
            out[i] = (int8_t)ec_min_i(ec_max_i(ec_int8_sum(result, a[i], b[i], by_a, by_b, ties), INT8_MIN), INT8_MAX);
    else
        for (int i = 0; i < n; i++)
            out[i] = (int8_t)ec_min_i(ec_max_i(ec_int8_sum(result, a[i], b[i], by_a, by_b, ties), result.low), result.high);
}

#endif
