/* Windows of ec_int8_depthwise_3x3.h and ec_int8_depthwise.h whose sums are written as they are, for cores with DSP.
   Needs ec_int8_dsp_depthwise_3x3.h and ec_int8_dsp_depthwise.h. */
#ifndef EC_INT8_DSP_DEPTHWISE_SUMS_H
#define EC_INT8_DSP_DEPTHWISE_SUMS_H

/* See ec_int8_window_sums.  panel_skip: bytes from a window to the next one's, less those of a window. */
typedef struct ec_int8_window_sums_job {
    const int16_t *panel;
    const int32_t *filters;
    int32_t *sums, *sums_end;
    const int32_t *start;
    ptrdiff_t panel_skip;
} ec_int8_window_sums_job;

/* Registers as EC_INT8_HALF_COLUMN has them; r12 sums, lr panel_skip. */
EC_NAKED void ec_int8_window_sums_dsp(const ec_int8_window_sums_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r4-r9}\n"
        "mov r0, r4\n"
        "mov r1, r5\n"
        "mov r12, r6\n"
        "mov lr, r9\n"
        "push {r7, r8}\n" /* 0 end of the sums, 4 start */
        "1:\n"
        "ldr r2, [sp, #4]\n"
        "ldm r2, {r2-r5}\n"
        EC_INT8_COLUMN EC_INT8_COLUMN EC_INT8_COLUMN
        "ldr r6, [sp]\n"
        "stm r12!, {r2-r5}\n"
        "sub r1, r1, #72\n"
        "add r0, r0, lr\n"
        "cmp r12, r6\n"
        "bne 1b\n"
        "add sp, sp, #8\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_tap_sums, and ec_int8_taps_job of what is called alike. */
typedef struct ec_int8_tap_sums_job {
    const int16_t *pairs;
    const int32_t *filters;
    const int16_t *pairs_end;
    ptrdiff_t pairs_left_out;
    const int16_t *lone, *lone_end;
    ptrdiff_t lone_left_out, pairs_skip, lone_skip;
    int32_t *sums;
    const int32_t *sums_end, *start;
} ec_int8_tap_sums_job;

/* What of the panel and the sums the next window has is counted in the job itself. */
EC_NAKED void ec_int8_tap_sums_dsp(ec_int8_tap_sums_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "adr r1, 2f\n"
        "adr r2, 3f\n"
        "ldr r3, [r0, #12]\n"
        "ldr r4, [r0, #24]\n"
        "add r3, r3, r1\n"
        "add r4, r4, r2\n"
        "push {r0, r3, r4}\n" /* 0 job, 4 entry of the pairs, 8 of the lone ones */
        "1:\n" /* a window */
        "ldr r12, [sp]\n"
        "ldrd r0, r1, [r12]\n"
        "ldr r6, [r12, #28]\n"
        "ldr lr, [r12, #8]\n"
        "add r6, r6, r0\n"
        "str r6, [r12]\n"
        "ldr r2, [r12, #44]\n"
        "ldr r12, [sp, #4]\n"
        "ldm r2, {r2-r5}\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_PAIR_TAP EC_INT8_PAIR_TAP EC_INT8_PAIR_TAP EC_INT8_PAIR_TAP
        "cmp r1, lr\n"
        "bne 2b\n"
        "ldr r12, [sp]\n"
        "ldrd r0, lr, [r12, #16]\n"
        "ldr r6, [r12, #32]\n"
        "add r6, r6, r0\n"
        "str r6, [r12, #16]\n"
        "ldr r12, [sp, #8]\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "3:\n"
        EC_INT8_LONE_TAP EC_INT8_LONE_TAP EC_INT8_LONE_TAP EC_INT8_LONE_TAP
        "cmp r1, lr\n"
        "bne 3b\n"
        "ldr r12, [sp]\n"
        "ldrd r0, r6, [r12, #36]\n"
        "stm r0!, {r2-r5}\n"
        "str r0, [r12, #36]\n"
        "cmp r0, r6\n"
        "bne 1b\n"
        "add sp, sp, #12\n"
        "pop {r4-r11, pc}\n");
}

#endif
