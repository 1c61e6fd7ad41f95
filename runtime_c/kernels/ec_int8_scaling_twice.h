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
#define EC_INT8_TO_EVEN(numbers, right, ties) ((void)(ties), (numbers))
#define EC_INT8_1X8_ODD "48" /* bytes from the words of the even ones of eight channels to those of the odd ones */
#define EC_INT8_1X8_FILTERS "#96" /* bytes of the words of eight channels */
/* See ec_int8_scaling.h: shifts lie behind multipliers. */
#define EC_INT8_ADDED(result) ((result).offset)
#define EC_INT8_LEFT(result) 24
#define EC_INT8_TIMES(sums) "vqrdmulh.s32 " sums ", " sums ", q0\n"
#define EC_INT8_SHIFTED(sums)                                                                     \
    "vand q1, " sums ", q0\n"                                                                     \
    "vshr.s32 q1, q1, #31\n"                                                                      \
    "vadd.i32 " sums ", " sums ", q1\n"                                                           \
    "vrshl.s32 " sums ", " sums ", q0\n"                                                          \
    "vadd.i32 " sums ", " sums ", r9\n"
#define EC_INT8_SCALED(all)                                                                       \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    all(EC_INT8_TIMES)                                                                            \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    "vmvn q0, q0\n"                                                                               \
    all(EC_INT8_SHIFTED)
#endif

#endif
