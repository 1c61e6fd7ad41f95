/* Several sums of one channel become results, for Armv7E-M and Armv8-M with DSP: see EC_INT8_REQUANTISE_NEXT of
   ec_int8_scaling.h.  Where that is a product, a shift and a bound, those of several take turns: a Cortex-M7 begins two
   instructions in a cycle, one product and one shift.  Needs ec_int8_scaling.h. */
#ifndef EC_INT8_DSP_RESULTS_H
#define EC_INT8_DSP_RESULTS_H

#ifdef EC_INT8_RIGHT
/* `right`: as text, in EC_INT8_SHIFTED_BY a register.  Of sums 256 times as large, as those of the second of two filters that are joined, 8 more, and the offset
   is as large. */
#define EC_INT8_SHIFTED(sum, multiplier, offset, right)                                           \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "ssat " sum ", #8, " sum ", asr #" right "\n"
#define EC_INT8_SHIFTED_BY(sum, multiplier, offset, right)                                        \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"
#define EC_INT8_THREE_SHIFTED(first, second, third, multiplier, offset, right)                    \
    "smmla " first ", " first ", " multiplier ", " offset "\n"                                    \
    "smmla " second ", " second ", " multiplier ", " offset "\n"                                  \
    "ssat " first ", #8, " first ", asr #" right "\n"                                             \
    "smmla " third ", " third ", " multiplier ", " offset "\n"                                    \
    "ssat " second ", #8, " second ", asr #" right "\n"                                           \
    "ssat " third ", #8, " third ", asr #" right "\n"
#define EC_INT8_REQUANTISE_THREE(first, second, third,                                            \
                                 multiplier, offset, right, spare, spent, at, apart)              \
    EC_INT8_THREE_SHIFTED(first, second, third, multiplier, offset, EC_INT8_BITS)
#define EC_INT8_REQUANTISE_FOUR(first, second, third, fourth,                                     \
                                multiplier, offset, right, spare, spent, at, apart)               \
    "smmla " first ", " first ", " multiplier ", " offset "\n"                                    \
    "smmla " second ", " second ", " multiplier ", " offset "\n"                                  \
    "ssat " first ", #8, " first ", asr #" EC_INT8_BITS "\n"                                      \
    "smmla " third ", " third ", " multiplier ", " offset "\n"                                    \
    "ssat " second ", #8, " second ", asr #" EC_INT8_BITS "\n"                                    \
    "smmla " fourth ", " fourth ", " multiplier ", " offset "\n"                                  \
    "ssat " third ", #8, " third ", asr #" EC_INT8_BITS "\n"                                      \
    "ssat " fourth ", #8, " fourth ", asr #" EC_INT8_BITS "\n"
#elif defined(EC_INT8_IN_STAGES)
#define EC_INT8_REQUANTISE_THREE(first, second, third,                                            \
                                 multiplier, offset, right, spare, spent, at, apart)              \
    "smmla " first ", " first ", " multiplier ", " offset "\n"                                    \
    "smmla " second ", " second ", " multiplier ", " offset "\n"                                  \
    "asr " first ", " first ", " right "\n"                                                       \
    "smmla " third ", " third ", " multiplier ", " offset "\n"                                    \
    "asr " second ", " second ", " right "\n"                                                     \
    "ssat " first ", #8, " first "\n"                                                             \
    "asr " third ", " third ", " right "\n"                                                       \
    "ssat " second ", #8, " second "\n"                                                           \
    "ssat " third ", #8, " third "\n"
#define EC_INT8_REQUANTISE_FOUR(first, second, third, fourth,                                     \
                                multiplier, offset, right, spare, spent, at, apart)               \
    "smmla " first ", " first ", " multiplier ", " offset "\n"                                    \
    "smmla " second ", " second ", " multiplier ", " offset "\n"                                  \
    "asr " first ", " first ", " right "\n"                                                       \
    "smmla " third ", " third ", " multiplier ", " offset "\n"                                    \
    "asr " second ", " second ", " right "\n"                                                     \
    "ssat " first ", #8, " first "\n"                                                             \
    "smmla " fourth ", " fourth ", " multiplier ", " offset "\n"                                  \
    "asr " third ", " third ", " right "\n"                                                       \
    "ssat " second ", #8, " second "\n"                                                           \
    "asr " fourth ", " fourth ", " right "\n"                                                     \
    "ssat " third ", #8, " third "\n"                                                             \
    "ssat " fourth ", #8, " fourth "\n"
#else
#define EC_INT8_REQUANTISE_THREE(first, second, third,                                            \
                                 multiplier, offset, right, spare, spent, at, apart)              \
    EC_INT8_REQUANTISE_NEXT(first, multiplier, offset, right, spare, spent, at, apart)            \
    EC_INT8_REQUANTISE_NEXT(second, multiplier, offset, right, spare, spent, at, apart)           \
    EC_INT8_REQUANTISE_NEXT(third, multiplier, offset, right, spare, spent, at, apart)
#define EC_INT8_REQUANTISE_FOUR(first, second, third, fourth,                                     \
                                multiplier, offset, right, spare, spent, at, apart)               \
    EC_INT8_REQUANTISE_NEXT(first, multiplier, offset, right, spare, spent, at, apart)            \
    EC_INT8_REQUANTISE_NEXT(second, multiplier, offset, right, spare, spent, at, apart)           \
    EC_INT8_REQUANTISE_NEXT(third, multiplier, offset, right, spare, spent, at, apart)            \
    EC_INT8_REQUANTISE_NEXT(fourth, multiplier, offset, right, spare, spent, at, apart)
#endif

/* What loops of joined filters have besides the offset: a shift, whose last eight bits are not 0, or what is as large an offset
   as sums of second filters are. */
#ifdef EC_INT8_RIGHT
#define EC_INT8_BESIDE_OFFSET(result) ((result).right == EC_INT8_RIGHT ? 256 * (result).offset : (result).right)
#else
#define EC_INT8_BESIDE_OFFSET(result) ((result).right)
#endif

/* Four bytes held to bounds: of each SEL takes the one that SSUB8 has found to be larger. */
EC_INLINE void ec_int8_bound_dsp(int32_t low, int32_t high, int8_t *out)
{
    uint32_t four, unused;
    EC_COPY(&four, out, sizeof four);
    __asm__("ssub8 %1, %0, %2\n\t"
            "sel %0, %0, %2\n\t"
            "ssub8 %1, %3, %0\n\t"
            "sel %0, %0, %3"
            : "+&r"(four), "=&r"(unused)
            : "r"(0x01010101u * (uint8_t)low), "r"(0x01010101u * (uint8_t)high)
            : "cc");
    EC_COPY(out, &four, sizeof four);
}

#endif
