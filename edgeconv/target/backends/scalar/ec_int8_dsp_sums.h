/* Sums of int8 in registers, as they are, for Armv7E-M and Armv8-M with DSP: see ec_int8_sums.h. */
#ifndef EC_INT8_DSP_SUMS_H
#define EC_INT8_DSP_SUMS_H

#include <arm_acle.h>

#include "ec_int8_dsp.h"

/* See ec_int8_tile_sums: `quads` > 0.  Sums are in r2 to r4 and r5 to r7, see EC_INT8_QUAD. */
EC_NAKED void ec_int8_tile_sums_dsp(const int16_t *panel __attribute__((unused)),
                                    const int8_t *filters __attribute__((unused)), int quads __attribute__((unused)),
                                    int32_t *sums __attribute__((unused)))
{
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "add r12, r2, r2, lsl #1\n"
        "add r12, r0, r12, lsl #3\n" /* the panel's end */
        "push {r12}\n"
        "rsb r2, r2, #0\n"
        "and r2, r2, #3\n" /* quads of the first pass that are left out */
        "add r2, r2, r2, lsl #2\n"
        "adr r3, 2f\n"
        "add r12, r3, r2, lsl #4\n"
        "movs r2, #0\n"
        "mov r3, r2\n"
        "mov r4, r2\n"
        "mov r5, r2\n"
        "mov r6, r2\n"
        "mov r7, r2\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_QUAD EC_INT8_QUAD EC_INT8_QUAD EC_INT8_QUAD
        "ldr r12, [sp]\n"
        "cmp r0, r12\n"
        "bne 2b\n"
        "ldr r12, [sp, #4]\n"
        "stm r12, {r2-r7}\n"
        "add sp, sp, #8\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_dot_sums: `quads` > 0 of four numbers.  r0 input, r1 filters, r2 quads, r4 to r7 sums. */
#define EC_INT8_SUM(sum, filter)                                                                  \
    "sxtb16 r3, " filter "\n"                                                                     \
    "smlad " sum ", r12, r3, " sum "\n"                                                           \
    "sxtb16 " filter ", " filter ", ror #8\n"                                                     \
    "smlad " sum ", lr, " filter ", " sum "\n"
EC_NAKED void ec_int8_dot_sums_dsp(const int8_t *in __attribute__((unused)),
                                   const int8_t *filters __attribute__((unused)), int quads __attribute__((unused)),
                                   int32_t *sums __attribute__((unused)))
{
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "movs r4, #0\n"
        "mov r5, r4\n"
        "mov r6, r4\n"
        "mov r7, r4\n"
        "1:\n"
        "ldr lr, [r0], #4\n"
        "ldm r1!, {r8-r11}\n"
        "sxtb16 r12, lr\n"
        "sxtb16 lr, lr, ror #8\n"
        EC_INT8_SUM("r4", "r8") EC_INT8_SUM("r5", "r9") EC_INT8_SUM("r6", "r10") EC_INT8_SUM("r7", "r11")
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "pop {r3}\n"
        "stm r3, {r4-r7}\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_add_tap: four channels. */
EC_INLINE void ec_int8_add_tap_dsp(int32_t *sums, const int8_t *in, const int8_t *filters)
{
    uint32_t x, f;
    memcpy(&x, in, sizeof x);
    memcpy(&f, filters, sizeof f);
    const int16x2_t even = __sxtb16((int8x4_t)x), odd = __sxtb16((int8x4_t)(x >> 8 | x << 24));
    const int16x2_t f_even = __sxtb16((int8x4_t)f), f_odd = __sxtb16((int8x4_t)(f >> 8 | f << 24));
    sums[0] = __smlabb(even, f_even, sums[0]), sums[2] = __smlatt(even, f_even, sums[2]);
    sums[1] = __smlabb(odd, f_odd, sums[1]), sums[3] = __smlatt(odd, f_odd, sums[3]);
}

#endif
