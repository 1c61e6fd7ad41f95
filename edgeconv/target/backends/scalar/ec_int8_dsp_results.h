/* Several sums of one channel become results, for Armv7E-M and Armv8-M with DSP: see EC_INT8_REQUANTISE_NEXT of
   ec_int8_scaling.h.  Where that is a product, a shift and a bound, those of several take turns: a Cortex-M7 begins two
   instructions in a cycle, one product and one shift.  Needs ec_int8_scaling.h. */
#ifndef EC_INT8_DSP_RESULTS_H
#define EC_INT8_DSP_RESULTS_H

#ifdef EC_INT8_IN_STAGES
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
