/* Windows of ec_int8_depthwise_2x2.h whose sums are written as they are, for cores with DSP.  Needs ec_int8_dsp_2x2.h. */
#ifndef EC_INT8_DSP_2X2_SUMS_H
#define EC_INT8_DSP_2X2_SUMS_H

/* See ec_int8_2x2_sums, and ec_int8_2x2_job of what is called alike.  second: bytes from the sums of a window to those of
   the one below. */
typedef struct ec_int8_2x2_sums_job {
    const int16_t *panel;
    const int32_t *words;
    ptrdiff_t left_out; /* becomes where the loop is entered */
    const int32_t *words_end;
    int32_t *sums;
    ptrdiff_t second;
    const int32_t *sums_end;
    ptrdiff_t panel_skip;
    const int32_t *start;
    const int16_t *next_panel;
    int32_t *next_sums;
} ec_int8_2x2_sums_job;

/* Registers as EC_INT8_2X2_TAP has them; r12 the job, in which the sums that come next and the channels are counted. */
EC_NAKED void ec_int8_2x2_sums_dsp(ec_int8_2x2_sums_job *job __attribute__((unused)))
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
        "ldr r6, [r12, #32]\n"
        "ldr r2, [r6]\n"
        "ldr r3, [r6, #8]\n"
        "mov r4, r2\n"
        "mov r5, r3\n"
        "mov pc, r7\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP
        EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP EC_INT8_2X2_TAP
        "cmp r1, lr\n"
        "bne 2b\n"
        "ldrd r6, r7, [r12, #16]\n"
        "ldrd r8, r9, [r12, #24]\n"
        "add r7, r7, r6\n"
        "str r4, [r7]\n"
        "str r5, [r7, #8]\n"
        "str r3, [r6, #8]\n"
        "str r2, [r6], #16\n"
        "add r0, r0, r9\n"
        "str r6, [r12, #16]\n"
        "cmp r6, r8\n"
        "bne 1b\n"
        "ldrd r0, r6, [r12, #36]\n"
        "cbz r6, 3f\n"
        "movs r2, #0\n" /* channels 1 and 3 */
        "ldr r3, [r12, #4]\n"
        "ldr r4, [r12, #32]\n"
        "str r2, [r12, #40]\n"
        "sub r3, lr, r3\n"
        "str r1, [r12, #4]\n"
        "add lr, lr, r3\n"
        "adds r4, r4, #4\n"
        "adds r8, r8, #4\n"
        "str r4, [r12, #32]\n"
        "str r8, [r12, #24]\n"
        "str r6, [r12, #16]\n"
        "b 1b\n"
        "3:\n"
        "pop {r4-r11, pc}\n");
}

#endif
