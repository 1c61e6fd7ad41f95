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
#define EC_INT8_TO_EVEN(numbers, right, ties) ((void)(ties), (numbers))
#define EC_INT8_1X8_ODD "48" /* bytes from the words of the even ones of eight channels to those of the odd ones */
#define EC_INT8_1X8_FILTERS "#96" /* bytes of the words of eight channels */
/* See ec_int8_scaling.h: offsets lie behind multipliers. */
#define EC_INT8_ADDED(result) 0
#define EC_INT8_LEFT(result) (24 - (result).right)
#define EC_INT8_TIMES(sums) "vmulh.s32 " sums ", " sums ", q0\n"
#define EC_INT8_PLUS(sums) "vadd.i32 " sums ", " sums ", q0\n"
#define EC_INT8_SCALED(all)                                                                       \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    all(EC_INT8_TIMES)                                                                            \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    all(EC_INT8_PLUS)
#endif

#endif
