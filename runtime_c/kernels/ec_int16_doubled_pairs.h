/* PRELU and SQUARED_DIFFERENCE of whole numbers, in TensorFlow Lite's arithmetic.  Needs ec_int16_doubled.h. */
#ifndef EC_INT16_DOUBLED_PAIRS_H
#define EC_INT16_DOUBLED_PAIRS_H

/* x times a factor (multiplier, shift to the right) that may be 1 or more, whose shift is negative then. */
EC_INLINE int32_t ec_int16_doubled_by(int32_t x, const int32_t *factor)
{
    const int32_t right = factor[1];
    return right < 0 ? ec_int16_doubled(x * (1 << -right), factor[0], 0) : ec_int16_doubled(x, factor[0], right);
}

/* a by words 0 and 1 where it is not negative, a b by words 2 and 3 where it is. */
EC_INLINE int32_t ec_int16_prelu(const int32_t *words, int32_t a, int32_t b)
{
    return a >= 0 ? ec_int16_doubled_by(a, words) : ec_int16_doubled_by(a * b, words + 2);
}

/* a by words 0 and 1 less b by words 2 and 3, both shifted left by word 6 before; the square of that by 4 and 5. */
EC_INLINE int32_t ec_int16_squared_difference(const int32_t *words, int32_t a, int32_t b)
{
    const int32_t unit = 1 << words[6];
    const int32_t between = ec_int16_doubled_by(a * unit, words) - ec_int16_doubled_by(b * unit, words + 2);
    return ec_int16_doubled_by(between * between, words + 4);
}

#endif
