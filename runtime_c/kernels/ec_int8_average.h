/* What becomes of int32 sums of so many numbers of int8.  Needs ec_integers_<isa>.h; without that there is nothing
   here. */
#ifdef EC_INTEGERS_H
#ifndef EC_INT8_AVERAGE_H
#define EC_INT8_AVERAGE_H

#include "ec_doubled.h"

/* What becomes of a sum of `count` numbers:

       q = min(max(number >> right, low), high)

   with a number of words start and factor, which are words 0 and 1, where windows `vary` words 2 count and
   2 count + 1.  Whoever chooses them proves that q is what the model says. */
enum ec_int8_scaling {
    EC_INT8_LINEAR, /* sum * factor + start */
    EC_INT8_HIGH,   /* high_word((sum + start) * factor) + offset */
    EC_INT8_HALVES, /* sum + start, rounded to the nearest, ties to even, + offset but for what rounds */
    EC_INT8_EVEN,   /* high_word((2 sum + start) * factor) + offset, but of 2 sum + start - 1 where that makes an
                       even result: they differ at ties alone */
    EC_INT8_AWAY,   /* sum, rounded to the nearest, halves away from 0 */
    EC_INT8_DOUBLED, /* upper word of twice the rounded (sum + start) * factor, that rounded so, + offset */
    EC_INT8_WIDE,   /* of int16: ec_int16_of_sum of four words */
    EC_INT8_WIDE_AWAY /* of int16: the same of twice the sum, less 1 where that is negative */
};

typedef struct ec_int8_average {
    int scaling, vary, offset, right, low, high;
    int zero; /* EC_INT8_EVEN: the result that is 0 steps */
#ifdef EC_INT16_SCALING_H
    int bytes; /* of a number that is summed */
    ec_int16_result wide;
#endif
} ec_int8_average;

EC_INLINE int ec_int8_average_bytes(const ec_int8_average by)
{
#ifdef EC_INT16_SCALING_H
    return ec_max_i(by.bytes, 1);
#else
    (void)by;
    return 1;
#endif
}

/* v / 2^right, halves away from 0. */
EC_INLINE ec_ivec ec_ishift_away(ec_ivec v, int right)
{
    if (right < 1)
        return v;
    const ec_ivec halves = ec_ishift_right(ec_iadd(v, ec_ibetween(v, -1, 0)), right - 1);
    return ec_ishift_right(ec_iadd(halves, ec_iset1(1)), 1);
}

EC_INLINE ec_ivec ec_int8_of_window(const ec_int8_average by, ec_ivec sum, const int32_t *words)
{
    if (by.scaling == EC_INT8_LINEAR)
        return ec_ishift_right(ec_iadd(ec_imul(sum, ec_iset1(words[1])), ec_iset1(words[0])), by.right);
    if (by.scaling == EC_INT8_EVEN) {
        const ec_ivec factor = ec_iset1(words[1]), offset = ec_iset1(by.offset);
        const ec_ivec twice = ec_iadd(ec_iadd(sum, sum), ec_iset1(words[0]));
        const ec_ivec less = ec_iadd(twice, ec_iset1(-1));
        const ec_ivec up = ec_ishift_right(ec_iadd(ec_imul_high(twice, factor), offset), by.right);
        const ec_ivec down = ec_ishift_right(ec_iadd(ec_imul_high(less, factor), offset), by.right);
        const ec_ivec whole = ec_iadd(down, ec_iset1(-by.zero));
        const ec_ivec odd = ec_iadd(whole, ec_imul(ec_ishift_right(whole, 1), ec_iset1(-2)));
        return ec_iadd(down, ec_imul(ec_iadd(up, ec_imul(down, ec_iset1(-1))), odd));
    }
    if (by.scaling == EC_INT8_AWAY)
        return ec_ishift_away(sum, by.right);
    const ec_ivec started = ec_iadd(sum, ec_iset1(words[0]));
    if (by.scaling == EC_INT8_DOUBLED)
        return ec_iadd(ec_ishift_away(ec_imul_doubled(started, ec_iset1(words[1])), by.right), ec_iset1(by.offset));
    if (by.scaling == EC_INT8_HIGH)
        return ec_ishift_right(ec_iadd(ec_imul_high(started, ec_iset1(words[1])), ec_iset1(by.offset)), by.right);
    /* one half less one of the last bit, and that where what would be rounded down is odd */
    const ec_ivec bits = ec_ishift_right(started, by.right);
    const ec_ivec odd = ec_iadd(bits, ec_imul(ec_ishift_right(bits, 1), ec_iset1(-2)));
    return ec_ishift_right(ec_iadd(ec_iadd(started, odd), ec_iset1(by.offset)), by.right);
}

#endif
#endif
