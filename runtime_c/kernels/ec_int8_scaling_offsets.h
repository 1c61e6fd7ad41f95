/* How an int32 sum becomes the integer of the result, rounded once, where a bias is no whole number of units:

       q = min(max((high_word(sum * multiplier[channel]) + offset[channel]) >> right, low), high)

   >> of negative numbers is arithmetic.  Whoever chooses the numbers proves that nothing overflows and that q is what the
   model says.  Needs ec_int8_channels.h, which includes it. */
#ifndef EC_INT8_SCALING_H
#define EC_INT8_SCALING_H

/* Words of a channel: what its sum starts with, then those of its scaling: multiplier, offset. */
#define EC_INT8_WORDS 3

/* scaling: the multiplier of the channel; its offset lies `apart` words on. */
EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, const int32_t *scaling, int apart)
{
    const int32_t word = ec_high_word(sum, scaling[0]);
    return (int8_t)ec_min_i(ec_max_i((word + scaling[apart]) >> result.right, result.low), result.high);
}

/* A number in front of its shift, no half of which is to become even. */
EC_INLINE int32_t ec_int8_to_even(int32_t number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#ifdef EC_INT8_DSP
/* Registers are named in these.  EC_INT8_BESIDES loads what a channel has besides its multiplier, EC_INT8_BEYOND words
   each `apart` bytes on, of which EC_INT8_SKIP passes over `bytes` each; EC_INT8_REQUANTISE_NEXT is for the sums of that
   channel, EC_INT8_REQUANTISE for one, and loads by itself. */
#define EC_INT8_IN_ASSEMBLY(result) 1
#define EC_INT8_IN_STAGES
#define EC_INT8_OFFSET(result) 0
#define EC_INT8_BEYOND "1"
#define EC_INT8_SKIP(at, bytes) "add " at ", " at ", " bytes "\n"
#define EC_INT8_BESIDES(offset, spare, at, apart) "ldr " offset ", [" at "]\n"
#define EC_INT8_REQUANTISE_NEXT(sum, multiplier, offset, right, spare, spent, at, apart)          \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)                             \
    EC_INT8_BESIDES(offset, "", at, apart)                                                        \
    EC_INT8_REQUANTISE_NEXT(sum, multiplier, offset, right, "", "", at, apart)
#endif

#ifdef EC_INT8_HELIUM
/* Sums in `sums` become what is stored: multipliers at `first`, offsets at `second`, r11 right, negative, q6 and q7
   bounds.  Leaves q2 to be written over. */
#define EC_INT8_OF_SUMS(sums, first, second, third)                                               \
    "vldrw.32 q2, " first "\n"                                                                    \
    "vmulh.s32 " sums ", " sums ", q2\n"                                                          \
    "vldrw.32 q2, " second "\n"                                                                   \
    "vadd.i32 " sums ", " sums ", q2\n"                                                           \
    "vshl.s32 " sums ", r11\n"                                                                    \
    "vmax.s32 " sums ", " sums ", q6\n"                                                           \
    "vmin.s32 " sums ", " sums ", q7\n"
#define EC_INT8_TO_EVEN(numbers, right, ties) ((void)(ties), (numbers))
#define EC_INT8_1X8_FILTERS "#96" /* bytes of the words of eight channels */
#define EC_INT8_OF_FOUR(sums) EC_INT8_OF_SUMS(sums, "[r5], #16", "[r5], #16", "") /* their scalings begin at r5, which is moved on */
#endif

#endif
