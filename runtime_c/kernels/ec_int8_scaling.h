/* How an int32 sum becomes the integer of the result, rounded once:

       q = min(max((high_word(sum * multiplier[channel]) + offset) >> right, low), high)

   high_word: the upper 32 bits of the product of 64, floor(product / 2^32); >> of negative numbers is arithmetic.
   Whoever chooses the numbers proves that nothing overflows and that q is what the model says.  ec_int8_scaling_twice.h
   is the other one of these.  Needs ec_int8_channels.h, which includes it. */
#ifndef EC_INT8_SCALING_H
#define EC_INT8_SCALING_H

/* Words of a channel: what its sum starts with, then those of its scaling: the multiplier. */
#define EC_INT8_WORDS 2

/* scaling: of the channel; what of it there is besides lies `apart` words on. */
EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, const int32_t *scaling, int apart)
{
    const int32_t word = (int32_t)(((int64_t)sum * *scaling) >> 32);
    (void)apart;
    return (int8_t)ec_min_i(ec_max_i((word + result.offset) >> result.right, result.low), result.high);
}

#ifdef EC_INT8_DSP
/* Registers are named in these; `offset` has that of the result, and `right`.  EC_INT8_SKIP: over `bytes` of what a
   scaling has besides multipliers; `besides`: where that of the channel lies.  1 in C where a loop in assembly can do it. */
#define EC_INT8_IN_ASSEMBLY(result) 1
#define EC_INT8_OFFSET(result) ((result).offset)
#define EC_INT8_SKIP(at, bytes) ""
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, besides)                               \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#endif

#ifdef EC_INT8_HELIUM
/* Sums in `sums` become what is stored: multipliers at `from`, r10 offset, r11 right, negative, q6 and q7
   bounds.  Leaves q2 to be written over. */
#define EC_INT8_OF_SUMS(sums, from, besides)                                                      \
    "vldrw.32 q2, " from "\n"                                                                     \
    "vmulh.s32 " sums ", " sums ", q2\n"                                                          \
    "vadd.i32 " sums ", " sums ", r10\n"                                                          \
    "vshl.s32 " sums ", r11\n"                                                                    \
    "vmax.s32 " sums ", " sums ", q6\n"                                                           \
    "vmin.s32 " sums ", " sums ", q7\n"
#define EC_INT8_EIGHTS_FILTERS "#64" /* bytes of the words of eight channels */
#endif

#endif
