/* Loops of ec_int8_depthwise_2x2.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_2X2_H
#define EC_INT8_DSP_2X2_H

/* See ec_int8_2x2_of_half: of four channels.  words_end: of filters.  left_out: bytes of the first pass through the loop.
   panel_skip: bytes from the end of a window to the next one.  next: of channels 1 and 3. */
typedef struct ec_int8_2x2_job {
    const int16_t *panel;
    const int32_t *words;
    ptrdiff_t left_out; /* becomes where the loop is entered */
    const int32_t *words_end;
    int8_t *out;
    ptrdiff_t apart, second;
    const int8_t *out_end;
    int32_t offset, right;
    ptrdiff_t panel_skip;
    const int16_t *next_panel;
    int8_t *next_out;
} ec_int8_2x2_job;

/* r0 panel, r1 filters, r2, r3 sums of both channels, r4, r5 those of the second row, r6, r7 a pair of either channel, r8 to
   r11 filters, lr their end, r12 the job. */
#define EC_INT8_2X2_TAP                                                                           \
    "ldrd r6, r7, [r0], #16\n"                                                                    \
    "ldm r1!, {r8-r11}\n"                                                                         \
    "smlad r2, r6, r8, r2\n"                                                                      \
    "smlad r3, r7, r9, r3\n"                                                                      \
    "smlad r4, r6, r10, r4\n"                                                                     \
    "smlad r5, r7, r11, r5\n"
/* Both sums of a channel. */
#define EC_INT8_2X2_SUMS(first, second, multiplier, at)                                           \
    EC_INT8_REQUANTISE_NEXT(first, multiplier, "r10", "r11", "r8", "r9", at, "8")                  \
    EC_INT8_REQUANTISE_NEXT(second, multiplier, "r10", "r11", "r8", "r9", at, "8")
enum { EC_INT8_2X2_TAP_BYTES = 6 * 4, EC_INT8_2X2_TAPS = 8 };

EC_NAKED void ec_int8_2x2_dsp(ec_int8_2x2_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "mov r12, r0\n"
        "ldrd r2, lr, [r12, #8]\n"
        "adr r3, 2f\n"
        "ldr r0, [r12]\n"
        "add r2, r2, r3\n"
        "str r2, [r12, #8]\n"
        "1:\n" /* a window */
        "ldrd r1, r7, [r12, #4]\n"
        "ldrd r2, r3, [r1], #8\n"
        "mov r4, r2\n"
        "mov r5, r3\n"
        "mov pc, r7\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP
        EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP
        "cmp r1, lr\n"
        "bne 2b\n"
        "ldrd r6, r7, [r1]\n"
        "ldrd r10, r11, [r12, #32]\n"
        EC_INT8_BESIDES("r10", "r8", "r1, #8", "8")
        EC_INT8_2X2_SUMS("r2", "r4", "r6", "r1, #8")
        EC_INT8_BESIDES("r10", "r8", "r1, #12", "8")
        EC_INT8_2X2_SUMS("r3", "r5", "r7", "r1, #12")
        "ldrd r8, r9, [r12, #16]\n"
        "ldrd r6, r7, [r12, #24]\n"
        "ldr r10, [r12, #40]\n"
        "add r6, r6, r8\n"
        "add r9, r9, r8\n"
        "strb r4, [r6]\n"
        "strb r5, [r6, #2]\n"
        "strb r2, [r8]\n"
        "strb r3, [r8, #2]\n"
        "add r0, r0, r10\n"
        "str r9, [r12, #16]\n"
        "cmp r9, r7\n"
        "bne 1b\n"
        "ldrd r0, r3, [r12, #44]\n"
        "cbz r3, 3f\n"
        "movs r4, #0\n"
        "str r4, [r12, #48]\n"
        "ldr r6, [r12, #4]\n"
        "sub r7, lr, r6\n"
        "add r6, r1, #8+8*" EC_INT8_BEYOND "\n"
        "add lr, r6, r7\n"
        "ldr r5, [r12, #28]\n"
        "adds r5, r5, #1\n"
        "str r5, [r12, #28]\n"
        "str r6, [r12, #4]\n"
        "str r3, [r12, #16]\n"
        "b 1b\n"
        "3:\n"
        "pop {r4-r11, pc}\n");
}

#endif
