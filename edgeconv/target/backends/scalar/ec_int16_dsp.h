/* Inner loops of int16 by int8 for Armv7E-M and Armv8-M with DSP: SMLAD multiplies pairs of a pixel by pairs that
   SXTB16 makes of four bytes of a filter. */
#ifndef EC_INT16_DSP_H
#define EC_INT16_DSP_H

#include "ec_int8_dsp.h"

/* See ec_int16_sums, of three pixels: `k_blocks` > 0.  Sums are in r2 to r4 and r5 to r7, see EC_INT8_K_BLOCK. */
EC_NAKED void ec_int16_sums_dsp(const int16_t *panel __attribute__((unused)),
                                const int8_t *filters __attribute__((unused)), int k_blocks __attribute__((unused)),
                                int32_t *sums __attribute__((unused)))
{
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "add r12, r2, r2, lsl #1\n"
        "add r12, r0, r12, lsl #3\n" /* the panel's end */
        "push {r12}\n"
        "rsb r2, r2, #0\n"
        "and r2, r2, #3\n" /* k-blocks of the first pass that are left out */
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
        EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK
        "ldr r12, [sp]\n"
        "cmp r0, r12\n"
        "bne 2b\n"
        "ldr r12, [sp, #4]\n"
        "stm r12, {r2-r7}\n"
        "add sp, sp, #8\n"
        "pop {r4-r11, pc}\n");
}

/* Sums of one pixel, at any address of an int16, which LDRD does not load from. */
EC_NAKED void ec_int16_dot_dsp(const int16_t *pixel __attribute__((unused)),
                               const int8_t *filters __attribute__((unused)), int k_blocks __attribute__((unused)),
                               int32_t *sums __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r9, lr}\n"
        "movs r4, #0\n"
        "mov r5, r4\n"
        "1:\n"
        "ldrd r6, r7, [r1], #8\n"
        "ldr r12, [r0], #4\n"
        "ldr lr, [r0], #4\n"
        "sxtb16 r8, r6\n"
        "sxtb16 r9, r7\n"
        "smlad r4, r12, r8, r4\n"
        "sxtb16 r6, r6, ror #8\n"
        "smlad r5, r12, r9, r5\n"
        "sxtb16 r7, r7, ror #8\n"
        "smlad r4, lr, r6, r4\n"
        "subs r2, r2, #1\n"
        "smlad r5, lr, r7, r5\n"
        "bne 1b\n"
        "strd r4, r5, [r3]\n"
        "pop {r4-r9, pc}\n");
}

#endif
