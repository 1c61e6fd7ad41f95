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
/* Sums in `sums` become what is stored: multipliers at `first`, offsets at `second`, ties at `third`, r11 right, negative,
   q6 and q7 bounds.  VSHL shifts to the right by what is negative, here twice the sum, so that the bit comes last.  Leaves
   q2 and q3 to be written over. */
#define EC_INT8_OF_SUMS(sums, first, second, third)                                               \
    "vldrw.32 q2, " third "\n"                                                                    \
    "vneg.s32 q2, q2\n"                                                                           \
    "vshl.i32 q3, " sums ", #1\n"                                                                 \
    "vshl.u32 q3, q3, q2\n"                                                                       \
    "vmov.i32 q2, #1\n"                                                                           \
    "vand q3, q3, q2\n"                                                                           \
    "vadd.i32 " sums ", " sums ", q3\n"                                                           \
    "vldrw.32 q2, " first "\n"                                                                    \
    "vmulh.s32 " sums ", " sums ", q2\n"                                                          \
    "vldrw.32 q2, " second "\n"                                                                   \
    "vadd.i32 " sums ", " sums ", q2\n"                                                           \
    "vshl.s32 " sums ", r11\n"                                                                    \
    "vmax.s32 " sums ", " sums ", q6\n"                                                           \
    "vmin.s32 " sums ", " sums ", q7\n"
#define EC_INT8_TO_EVEN(numbers, right, ties)                                                      \
    vaddq_s32(numbers, vandq_s32(vshlq_r_s32(numbers, -(right)), vdupq_n_s32(ties)))
#define EC_INT8_1X8_FILTERS "#128" /* bytes of the words of eight channels */
#define EC_INT8_OF_FOUR(sums) EC_INT8_OF_SUMS(sums, "[r5], #16", "[r5], #32", "[r5, #32]") /* their scalings begin at r5, which is moved on */
#endif

#endif
