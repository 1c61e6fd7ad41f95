/* Sums of int8 in registers, as they are, for Armv7E-M and Armv8-M with DSP: see ec_int8_sums.h. */
#ifndef EC_INT8_DSP_SUMS_H
#define EC_INT8_DSP_SUMS_H

#include <arm_acle.h>

#include "ec_int8_dsp.h"

/* See ec_int8_tile_sums.  skip: bytes of the first pass through the loop that are left out. */
typedef struct ec_int8_tile_sums_job {
    const int16_t *panel, *panel_end;
    const int32_t *start;
    int32_t *sums, *sums_end;
    ptrdiff_t skip;
    const int8_t *filters;
} ec_int8_tile_sums_job;

/* Sums are in r2 to r4 and r5 to r7, see EC_INT8_K_BLOCK. */
EC_NAKED void ec_int8_tile_sums_dsp(const ec_int8_tile_sums_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldrd r2, r1, [r0, #20]\n" /* skip, filters */
        "adr r3, 2f\n"
        "add r9, r2, r3\n"
        "ldm r0, {r4-r8}\n"
        "push {r4-r9}\n" /* 0 panel, 4 its end, 8 start, 12 sums, 16 their end, 20 entry */
        "1:\n" /* two filters */
        "ldr r8, [sp, #8]\n"
        "ldr r0, [sp]\n"
        "ldr r12, [sp, #20]\n"
        "ldrd r2, r5, [r8], #8\n"
        "str r8, [sp, #8]\n"
        "mov r3, r2\n"
        "mov r4, r2\n"
        "mov r6, r5\n"
        "mov r7, r5\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK
        "ldr r12, [sp, #4]\n"
        "cmp r0, r12\n"
        "bne 2b\n"
        "ldrd r12, lr, [sp, #12]\n"
        "stm r12!, {r2-r7}\n"
        "str r12, [sp, #12]\n"
        "cmp r12, lr\n"
        "bne 1b\n"
        "add sp, sp, #24\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_dot_sums: `k_blocks` > 0 of four numbers.  r0 input, r1 filters, r2 k-blocks, r4 to r7 sums. */
#define EC_INT8_SUM(sum, filter)                                                                  \
    "sxtb16 r3, " filter "\n"                                                                     \
    "smlad " sum ", r12, r3, " sum "\n"                                                           \
    "sxtb16 " filter ", " filter ", ror #8\n"                                                     \
    "smlad " sum ", lr, " filter ", " sum "\n"
EC_NAKED void ec_int8_dot_sums_dsp(const int8_t *in __attribute__((unused)),
                                   const int8_t *filters __attribute__((unused)), int k_blocks __attribute__((unused)),
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
