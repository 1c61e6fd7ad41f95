/* Numbers quantised by a product, for cores with DSP and an FPU: see ec_dynamic_quantise_ranged.  Needs what is above it in
   ec_quantise.h. */
#ifndef EC_QUANTISE_DSP_H
#define EC_QUANTISE_DSP_H

#define EC_QUANTISE_BY_EIGHT

/* Four sums as float32, of each of which the lowest byte is what is behind the point and the next one the integer less 128,
   to a word of these integers; `near`: of each a byte that is not 0 where it is next to a middle. */
#define EC_QUANTISE_FOUR(first, second, third, fourth, word, near)                                \
    "vmov r4, r5, " first ", " second "\n"                                                        \
    "vmov r12, lr, " third ", " fourth "\n"                                                       \
    "pkhbt r4, r4, r12, lsl #16\n" /* numbers 0 and 2 */                                          \
    "pkhbt r5, r5, lr, lsl #16\n"                                                                 \
    "uqsub8 r12, %[two], r4\n"                                                                    \
    "uqsub8 lr, %[two], r5\n"                                                                     \
    "uxtb16 r4, r4, ror #8\n"                                                                     \
    "and r5, r5, #0xff00ff00\n"                                                                   \
    "orr " near ", r12, lr, lsl #8\n"                                                             \
    "orr " word ", r4, r5\n"

/* What is added to x / scale leaves eight binary digits of a float32 behind the point: half of an integer and a unit, so that
   what is next to the middle between two integers has digits that are 0 or 1. */
EC_INLINE void ec_quantise_eight(const float *x, float by, float scale, float zero, int8_t *out)
{
    const float added = 32768.0f + 128.0f + 0.5f + 1.0f / 256.0f + zero;
    uint32_t words[2], near[2];
    __asm__("vldmia %[x], {s0-s7}\n"
            "vmov.f32 s8, %[added]\n"
            "vmov.f32 s9, %[added]\n"
            "vmov.f32 s10, %[added]\n"
            "vmov.f32 s11, %[added]\n"
            "vmov.f32 s12, %[added]\n"
            "vmov.f32 s13, %[added]\n"
            "vmov.f32 s14, %[added]\n"
            "vmov.f32 s15, %[added]\n"
            "vfma.f32 s8, s0, %[by]\n"
            "vfma.f32 s9, s1, %[by]\n"
            "vfma.f32 s10, s2, %[by]\n"
            "vfma.f32 s11, s3, %[by]\n"
            "vfma.f32 s12, s4, %[by]\n"
            "vfma.f32 s13, s5, %[by]\n"
            "vfma.f32 s14, s6, %[by]\n"
            "vfma.f32 s15, s7, %[by]\n"
            EC_QUANTISE_FOUR("s8", "s9", "s10", "s11", "%[word]", "%[near]")
            EC_QUANTISE_FOUR("s12", "s13", "s14", "s15", "%[last]", "%[beside]")
            : [word] "=&r"(words[0]), [last] "=&r"(words[1]), [near] "=&r"(near[0]), [beside] "=&r"(near[1])
            : [x] "r"(x), [by] "t"(by), [added] "t"(added), [two] "r"(0x00020002u), "m"(*(const float(*)[8])x)
            : "r4", "r5", "r12", "lr", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
              "s14", "s15");
    memcpy(out, words, sizeof words);
    if (near[0] | near[1])
        for (int k = 0; k < 8; k++)
            if (near[k / 4] >> k % 4 * 8 & 0xff)
                out[k] = ec_quantise_divided(x[k], scale, zero);
}

#endif
