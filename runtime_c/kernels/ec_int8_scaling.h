/* How an int32 sum becomes the integer of the result, rounded once:

       q = min(max((high_word(sum * multiplier[channel]) + offset) >> right, low), high)

   high_word: the upper 32 bits of the product of 64, floor(product / 2^32); >> of negative numbers is arithmetic.
   Whoever chooses the numbers proves that nothing overflows and that q is what the model says.  ec_int8_scaling_offsets.h,
   ec_int8_scaling_ties.h and ec_int8_scaling_twice.h are the others of these.  Needs ec_int8_channels.h, which includes it. */
#ifndef EC_INT8_SCALING_H
#define EC_INT8_SCALING_H

/* Words of a channel: what its sum starts with, then those of its scaling: the multiplier. */
#define EC_INT8_WORDS 2

/* scaling: of the channel; what of it there is besides lies `apart` words on. */
EC_INLINE int8_t ec_int8_of_sum(ec_int8_result result, int32_t sum, const int32_t *scaling, int apart)
{
    const int32_t word = ec_high_word(sum, *scaling);
    (void)apart;
    return (int8_t)ec_min_i(ec_max_i((word + result.offset) >> result.right, result.low), result.high);
}

/* A number in front of its shift, no half of which is to become even. */
EC_INLINE int32_t ec_int8_to_even(int32_t number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#ifdef EC_INT8_DSP
/* Registers are named in these; `offset` has that of the result, and `right`.  EC_INT8_IN_ASSEMBLY: a loop in assembly
   can do it.  What a scaling has besides multipliers is EC_INT8_BEYOND words of a channel, which EC_INT8_SKIP passes over,
   `bytes` for each; that of the channel lies `at` a register and a number of bytes, each word `apart` bytes on.  Where
   sums of one channel follow each other, EC_INT8_BESIDES loads it, to `offset` and `spare`, and EC_INT8_REQUANTISE_NEXT is
   for each of them, which writes over `spent`.  EC_INT8_IN_STAGES: that is a product, a shift and a bound, see
   ec_int8_dsp_results.h.  EC_INT8_RIGHT: the shift of all results of a program, EC_INT8_BITS as text; SSAT does that, too, and no
   register has it. */
#define EC_INT8_IN_ASSEMBLY(result) 1
#define EC_INT8_IN_STAGES
#define EC_INT8_OFFSET(result) ((result).offset)
#define EC_INT8_BEYOND "0"
#define EC_INT8_SKIP(at, bytes) ""
#define EC_INT8_BESIDES(offset, spare, at, apart) ""
#define EC_INT8_REQUANTISE_NEXT(sum, multiplier, offset, right, spare, spent, at, apart)          \
    EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)
#ifdef EC_INT8_RIGHT
#define EC_INT8_TEXT(number) #number
#define EC_INT8_TEXT_OF(number) EC_INT8_TEXT(number)
#define EC_INT8_BITS EC_INT8_TEXT_OF(EC_INT8_RIGHT)
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)                             \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "ssat " sum ", #8, " sum ", asr #" EC_INT8_BITS "\n"
#else
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right, at, apart)                             \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#endif
#endif

#ifdef EC_INT8_HELIUM
#define EC_INT8_TO_EVEN(numbers, right, ties) ((void)(ties), (numbers))
#define EC_INT8_1X8_ODD "32" /* bytes from the words of the even ones of eight channels to those of the odd ones */
#define EC_INT8_1X8_FILTERS "#64" /* bytes of the words of eight channels */
/* Vectors of four sums each (ec_int8_helium_tiles.h), whose multipliers lie at r5, which is moved on, become words that
   EC_INT8_LEFT bits more bring to the upper byte; EC_INT8_ADDED is in r9.  VQDMLASH doubles the product.  q0 and q1 are free. */
#define EC_INT8_ADDED(result) (2 * (result).offset)
#define EC_INT8_LEFT(result) (23 - (result).right)
#define EC_INT8_TIMES(sums) "vqdmlash.s32 " sums ", q0, r9\n"
#define EC_INT8_SCALED(all)                                                                       \
    "vldrw.32 q0, [r5], #16\n"                                                                    \
    all(EC_INT8_TIMES)
#endif

#endif
