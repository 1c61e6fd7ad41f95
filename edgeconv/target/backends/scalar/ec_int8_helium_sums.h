/* Sums of int8 in registers, as they are, for Helium: see ec_int8_sums.h. */
#ifndef EC_INT8_HELIUM_SUMS_H
#define EC_INT8_HELIUM_SUMS_H

#include <arm_mve.h>

/* See ec_int8_1x4_sums: of n > 0 numbers; what is beyond them is not read of the input. */
EC_INLINE void ec_int8_1x4_sums_helium(const int8_t *in, int n, const int8_t *filters, int32_t *sums)
{
    register int32_t a __asm__("r2") = 0, b __asm__("r4") = 0, c __asm__("r6") = 0, d __asm__("r8") = 0;
    __asm__ volatile("dlstp.8 lr, %[n]\n"
                     "1:\n"
                     "vldrb.8 q0, [%[in]], #16\n"
                     "vldrb.8 q1, [%[filters]], #64\n"
                     "vmladava.s8 %[a], q0, q1\n"
                     "vldrb.8 q2, [%[filters], #-48]\n"
                     "vmladava.s8 %[b], q0, q2\n"
                     "vldrb.8 q3, [%[filters], #-32]\n"
                     "vmladava.s8 %[c], q0, q3\n"
                     "vldrb.8 q1, [%[filters], #-16]\n"
                     "vmladava.s8 %[d], q0, q1\n"
                     "letp lr, 1b\n"
                     : [in] "+r"(in), [filters] "+r"(filters), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                     : [n] "r"(n)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

/* See ec_int8_add_tap: four channels. */
EC_INLINE void ec_int8_add_tap_helium(int32_t *sums, const int8_t *in, const int8_t *filters)
{
    const int32x4_t products = vmulq_s32(vldrbq_s32(in), vldrbq_s32(filters));
    vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), products));
}

#endif
