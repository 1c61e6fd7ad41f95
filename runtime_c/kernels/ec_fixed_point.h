/* From int32 sums to the int8 of a result, in fixed point.  Both ways are proven for every channel to
   be what the model says when it is compiled (edgeconv/requantisation), so that nothing is checked
   here and nothing overflows.  Shifts to the right are arithmetic. */
#ifndef EC_FIXED_POINT_H
#define EC_FIXED_POINT_H

/* Constants of a layer.  Of each channel there are words: {start, multiplier}, where wide {low word,
   high word of start, multiplier}. */
typedef struct ec_fixed_point {
    int wide, even;
    int right, offset; /* offset: unless wide */
    int zero, low, high;
} ec_fixed_point;

enum { EC_FIXED_WORDS = 2, EC_WIDE_WORDS = 3 };

EC_INLINE int32_t ec_fixed_bounded(const ec_fixed_point as, int32_t x)
{
    return x < as.low ? as.low : x > as.high ? as.high : x;
}

/* Of a sum that began with the channel's start: SMMLA and SSAT. */
EC_INLINE int32_t ec_fixed(const ec_fixed_point as, int32_t sum, int32_t multiplier)
{
    const int32_t word = (int32_t)(((int64_t)sum * multiplier) >> 32);
    return ec_fixed_bounded(as, (word + as.offset) >> as.right);
}

/* Of a sum that began with 0: SMLAL and SSAT.  even: where the sum is the middle between two steps,
   the even one. */
EC_INLINE int32_t ec_wide(const ec_fixed_point as, int32_t sum, int64_t start, int32_t multiplier)
{
    const int64_t t = (int64_t)sum * multiplier + start;
    int32_t q = (int32_t)(t >> 32) >> as.right;
    if (as.even && !(t & (((int64_t)1 << (32 + as.right)) - 1)))
        q -= (q - as.zero) & 1;
    return ec_fixed_bounded(as, q);
}

/* Before the sum of a channel, whose words these are. */
EC_INLINE int32_t ec_fixed_start(const ec_fixed_point as, const int32_t *words)
{
    return as.wide ? 0 : words[0];
}

/* Behind the sum of a channel, whose words these are. */
EC_INLINE int32_t ec_fixed_result(const ec_fixed_point as, int32_t sum, const int32_t *words)
{
    if (!as.wide)
        return ec_fixed(as, sum, words[1]);
    return ec_wide(as, sum, (int64_t)(((uint64_t)(uint32_t)words[1] << 32) | (uint32_t)words[0]), words[2]);
}

#endif
