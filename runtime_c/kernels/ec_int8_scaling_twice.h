/* How an int32 sum becomes the integer of the result, rounded twice as in TensorFlow Lite:

       word = floor((sum * multiplier[channel] + 2^30) / 2^31)
       q = min(max(round(word / 2^shift[channel]) + offset, low), high)

   halves away from 0.  What lies in memory is one less than the shift, behind the multiplier.
   result.right: the smallest shift of all channels.  Needs ec_int8_channels.h, which includes it. */
#ifndef EC_INT8_SCALING_H
#define EC_INT8_SCALING_H

/* Words of a channel: what its sum starts with, then those of its scaling: multiplier, shift less one. */
#define EC_INT8_WORDS 3

/* scaling: the multiplier of the channel; its shift lies `apart` words on. */
EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, const int32_t *scaling, int apart)
{
    const int32_t word = (int32_t)(((int64_t)sum * scaling[0] + (1 << 30)) >> 31), less = scaling[apart];
    const int32_t whole = less < 0 ? word : (((word - (word < 0)) >> less) + 1) >> 1;
    return (int8_t)ec_min_i(ec_max_i(whole + result.offset, result.low), result.high);
}

/* A number in front of its shift, no half of which is to become even. */
EC_INLINE int32_t ec_int8_to_even(int32_t number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#ifdef EC_INT8_DSP
/* As in ec_int8_scaling.h.  Twice the product, 2^30 having been added, has the word as its upper one; SSAT takes the
   last bit of the shift, a half being what is added in front of it, with the offset: so that there has to be a shift. */
#define EC_INT8_IN_ASSEMBLY(result) ((result).right > 0)
#define EC_INT8_OFFSET(result) (2 * (result).offset + 1)
#define EC_INT8_BEYOND "1"
#define EC_INT8_SKIP(at, bytes) "add " at ", " at ", " bytes "\n"
#define EC_INT8_BESIDES(offset, spare, at, apart) ""
#define EC_INT8_REQUANTISE_NEXT(sum, multiplier, offset, right, spare, spent, at, apart)          \
    EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)                             \
    "smull " right ", " sum ", " sum ", " multiplier "\n"                                         \
    "adds " right ", " right ", #0x40000000\n"                                                    \
    "adc " sum ", " sum ", #0\n"                                                                  \
    "adds " right ", " right ", " right "\n"                                                      \
    "adc " sum ", " sum ", " sum "\n"                                                             \
    "ldr " right ", [" at "]\n"                                                                   \
    "add " sum ", " sum ", " sum ", asr #31\n"                                                    \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "add " sum ", " sum ", " offset "\n"                                                          \
    "ssat " sum ", #8, " sum ", asr #1\n"
#endif

#ifdef EC_INT8_HELIUM
/* As in ec_int8_scaling.h, shifts at `second`.  VRSHL rounds halves up, so that one is taken from what is negative
   and to be shifted at all.  Leaves q2 and q3 to be written over. */
#define EC_INT8_OF_SUMS(sums, first, second, third)                                               \
    "vldrw.32 q2, " first "\n"                                                                    \
    "vqrdmulh.s32 " sums ", " sums ", q2\n"                                                       \
    "vldrw.32 q2, " second "\n"                                                                   \
    "vmvn q2, q2\n"                                                                               \
    "vand q3, " sums ", q2\n"                                                                     \
    "vshr.s32 q3, q3, #31\n"                                                                      \
    "vadd.i32 " sums ", " sums ", q3\n"                                                           \
    "vrshl.s32 " sums ", " sums ", q2\n"                                                          \
    "vadd.i32 " sums ", " sums ", r10\n"                                                          \
    "vmax.s32 " sums ", " sums ", q6\n"                                                           \
    "vmin.s32 " sums ", " sums ", q7\n"
#define EC_INT8_TO_EVEN(numbers, right, ties) ((void)(ties), (numbers))
#define EC_INT8_1X8_FILTERS "#96" /* bytes of the words of eight channels */
#define EC_INT8_OF_FOUR(sums) EC_INT8_OF_SUMS(sums, "[r5], #16", "[r5], #16", "") /* their scalings begin at r5, which is moved on */
#endif

#endif
