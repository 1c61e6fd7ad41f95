/* Loops of ec_int8_depthwise.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_DEPTHWISE_H
#define EC_INT8_DSP_DEPTHWISE_H

/* See ec_int8_pair_columns.  Of `columns` > 0 times four channels the pairs of rows a and b: channels 0, 2, 1, 3.
   apart: bytes from a column to the next. */
EC_NAKED void ec_int8_pair_columns_dsp(const int8_t *a __attribute__((unused)), const int8_t *b __attribute__((unused)),
                                       int16_t *panel __attribute__((unused)), int columns __attribute__((unused)),
                                       ptrdiff_t pixel __attribute__((unused)), ptrdiff_t apart __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldrd r4, r5, [sp, #36]\n" /* pixel, apart */
        "1:\n"
        "ldr r6, [r0]\n"
        "ldr r7, [r1]\n"
        "add r0, r0, r4\n"
        "pkhbt r8, r6, r7, lsl #16\n"
        "add r1, r1, r4\n"
        "pkhtb r9, r7, r6, asr #16\n"
        "subs r3, r3, #1\n"
        "sxtb16 r10, r8\n"
        "sxtb16 r11, r9\n"
        "str r10, [r2]\n"
        "sxtb16 r8, r8, ror #8\n"
        "str r11, [r2, #4]\n"
        "sxtb16 r9, r9, ror #8\n"
        "str r8, [r2, #8]\n"
        "str r9, [r2, #12]\n"
        "add r2, r2, r5\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_lone_columns: of `columns` > 0 times four channels of a row. */
EC_NAKED void ec_int8_lone_columns_dsp(const int8_t *row __attribute__((unused)),
                                       int16_t *panel __attribute__((unused)), int columns __attribute__((unused)),
                                       ptrdiff_t pixel __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4, r5}\n"
        "1:\n"
        "ldr r12, [r0]\n"
        "add r0, r0, r3\n"
        "subs r2, r2, #1\n"
        "sxtb16 r4, r12\n"
        "sxtb16 r5, r12, ror #8\n"
        "strd r4, r5, [r1], #8\n"
        "bne 1b\n"
        "pop {r4, r5}\n"
        "bx lr\n");
}

/* See ec_int8_taps.  pairs_left_out, lone_left_out: bytes of the first pass through either loop that are left
   out, all of it where there is nothing to do: the loop's end is what follows. */
typedef struct ec_int8_taps_job {
    const int16_t *pairs;
    const int32_t *channels;
    const int16_t *pairs_end; /* of filters */
    ptrdiff_t pairs_left_out;
    const int16_t *lone, *lone_end;
    ptrdiff_t lone_left_out, pairs_skip, lone_skip;
    int8_t *out;
    ptrdiff_t out_pixel;
    const int8_t *out_end;
    int32_t offset, right;
} ec_int8_taps_job;

/* r0 panel, r1 filters, r2 to r5 sums, r6 to r9 numbers of the panel, r10, r11 of filters, lr their end. */
#define EC_INT8_PAIR_TAP                                                                          \
    "ldm r0!, {r6-r9}\n"                                                                          \
    "ldrd r10, r11, [r1], #8\n"                                                                   \
    "smlad r2, r6, r10, r2\n"                                                                     \
    "smlad r4, r7, r11, r4\n"                                                                     \
    "ldrd r10, r11, [r1], #8\n"                                                                   \
    "smlad r3, r8, r10, r3\n"                                                                     \
    "smlad r5, r9, r11, r5\n"
#define EC_INT8_LONE_TAP                                                                          \
    "ldrd r6, r7, [r0], #8\n"                                                                     \
    "ldrd r10, r11, [r1], #8\n"                                                                   \
    "smlabb r2, r6, r10, r2\n"                                                                    \
    "smlatt r4, r6, r10, r4\n"                                                                    \
    "smlabb r3, r7, r11, r3\n"                                                                    \
    "smlatt r5, r7, r11, r5\n"
enum { EC_INT8_PAIR_TAP_BYTES = 7 * 4, EC_INT8_LONE_TAP_BYTES = 6 * 4, EC_INT8_TAPS = 4 };

/* What of the panel the next window has is counted in the job itself. */
EC_NAKED void ec_int8_taps_dsp(ec_int8_taps_job *job __attribute__((unused)))
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
        "ldr r12, [sp, #4]\n"
        "ldm r1!, {r2-r5}\n"
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
        "ldm r1, {r6-r9}\n"
        "ldrd r10, r11, [r12, #48]\n"
        EC_INT8_REQUANTISE("r2", "r6", "r10", "r11", "r1, #16", "16")
        EC_INT8_REQUANTISE("r3", "r7", "r10", "r11", "r1, #20", "16")
        EC_INT8_REQUANTISE("r4", "r8", "r10", "r11", "r1, #24", "16")
        EC_INT8_REQUANTISE("r5", "r9", "r10", "r11", "r1, #28", "16")
        "ldrd r0, r1, [r12, #36]\n"
        "ldr r6, [r12, #44]\n"
        "strb r2, [r0]\n"
        "strb r3, [r0, #1]\n"
        "strb r4, [r0, #2]\n"
        "strb r5, [r0, #3]\n"
        "add r0, r0, r1\n"
        "str r0, [r12, #36]\n"
        "cmp r0, r6\n"
        "bne 1b\n"
        "add sp, sp, #12\n"
        "pop {r4-r11, pc}\n");
}

#endif
