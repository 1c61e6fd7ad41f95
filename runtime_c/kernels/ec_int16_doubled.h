/* A whole number times a real one, in TensorFlow Lite's arithmetic. */
#ifndef EC_INT16_DOUBLED_H
#define EC_INT16_DOUBLED_H

/* x times a factor: the product with its multiplier rounded to a multiple of 2^31, halves up, and that by a shift,
   halves away from 0, as TensorFlow Lite has it. */
EC_INLINE int32_t ec_int16_doubled(int32_t x, int32_t multiplier, int32_t right)
{
    const int64_t word = ((int64_t)x * multiplier + ((int64_t)1 << 30)) >> 31, half = ((int64_t)1 << right) >> 1;
    return (int32_t)((word + half - (word < 0 && half)) >> right);
}

#endif
