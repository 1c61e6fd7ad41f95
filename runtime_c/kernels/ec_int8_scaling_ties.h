/* How an int32 sum becomes the integer of the result, rounded once, where halves of a step are to become even numbers,
   as where all scales are powers of two:

       q = min(max((high_word((sum + bit) * multiplier[channel]) + offset[channel]) >> right, low), high)

   bit: number tie[channel] - 1 of the sum, which is the lowest one of floor(result), so that a half of a step is raised in
   front of an odd number alone (edgeconv/ir/requantisation/per_channel.py); 0 where tie is 33, as where no sum is a half.
   >> of negative numbers is arithmetic.  Whoever chooses the numbers proves that nothing overflows and that q is what the
   model says.  Needs ec_int8_channels.h, which includes it. */
#ifndef EC_INT8_SCALING_H
#define EC_INT8_SCALING_H

/* Words of a channel: what its sum starts with, then those of its scaling: multiplier, offset, tie. */
#define EC_INT8_WORDS 4

/* scaling: the multiplier of the channel; its offset lies `apart` words on, its tie twice as far. */
EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, const int32_t *scaling, int apart)
{
    const int32_t tie = scaling[2 * apart], bit = tie < 33 ? (sum >> ((tie - 1) & 31)) & 1 : 0; /* 0 of none */
    const int32_t word = ec_high_word(sum + bit, scaling[0]);
    return (int8_t)ec_min_i(ec_max_i((word + scaling[apart]) >> result.right, result.low), result.high);
}

/* A number in front of its shift, with its bit `right` added where ties is 1. */
EC_INLINE int32_t ec_int8_to_even(int32_t number, int right, int ties) { return number + ((number >> right) & ties); }

#ifdef EC_INT8_DSP
/* Registers are named in these.  EC_INT8_BESIDES loads what a channel has besides its multiplier, EC_INT8_BEYOND words
   each `apart` bytes on, of which EC_INT8_SKIP passes over `bytes` each; EC_INT8_REQUANTISE_NEXT is for the sums of that
   channel, EC_INT8_REQUANTISE for one, and loads by itself.  LSRS leaves the last bit that it
   shifts out in the carry flag, none of 33. */
#define EC_INT8_IN_ASSEMBLY(result) 1
#define EC_INT8_OFFSET(result) 0
#define EC_INT8_BEYOND "2"
#define EC_INT8_SKIP(at, bytes) "add " at ", " at ", " bytes "\n" "add " at ", " at ", " bytes "\n"
#define EC_INT8_BESIDES(offset, spare, at, apart)                                                 \
    "ldr " offset ", [" at "]\n"                                                                  \
    "ldr " spare ", [" at "+" apart "]\n"
#define EC_INT8_REQUANTISE_NEXT(sum, multiplier, offset, right, spare, spent, at, apart)          \
    "lsrs " spent ", " sum ", " spare "\n"                                                        \
    "adc " sum ", " sum ", #0\n"                                                                  \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)                             \
    "ldr " offset ", [" at "+" apart "]\n"                                                        \
    "lsrs " offset ", " sum ", " offset "\n"                                                      \
    "adc " sum ", " sum ", #0\n"                                                                  \
    "ldr " offset ", [" at "]\n"                                                                  \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#endif

#ifdef EC_INT8_HELIUM
#define EC_INT8_TO_EVEN(numbers, right, ties)                                                      \
    vaddq_s32(numbers, vandq_s32(vshlq_r_s32(numbers, -(right)), vdupq_n_s32(ties)))
#define EC_INT8_1X8_ODD "64" /* bytes from the words of the even ones of eight channels to those of the odd ones */
#define EC_INT8_1X8_FILTERS "#128" /* bytes of the words of eight channels */
/* See ec_int8_scaling.h: behind multipliers lie offsets, then ties. */
#define EC_INT8_ADDED(result) 0
#define EC_INT8_LEFT(result) (24 - (result).right)
#define EC_INT8_TIMES(sums) "vmulh.s32 " sums ", " sums ", q0\n"
#define EC_INT8_PLUS(sums) "vadd.i32 " sums ", " sums ", q0\n"
#define EC_INT8_PLUS_BIT(sums)                                                                    \
    "vshl.i32 q1, " sums ", #1\n"                                                                 \
    "vshl.u32 q1, q1, q0\n"                                                                       \
    "vshl.i32 q1, q1, #31\n"                                                                      \
    "vshr.u32 q1, q1, #31\n"                                                                      \
    "vadd.i32 " sums ", " sums ", q1\n"
#define EC_INT8_SCALED(all)                                                                       \
    "vldrw.32 q0, [r5, #32]\n"                                                                    \
    "vneg.s32 q0, q0\n"                                                                           \
    all(EC_INT8_PLUS_BIT)                                                                         \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    all(EC_INT8_TIMES)                                                                            \
    "vldrw.32 q0, [r5], #32\n"                                                                    \
    all(EC_INT8_PLUS)
#endif

#endif
