/* Loops of ec_int8_depthwise_3x3.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_DEPTHWISE_3X3_H
#define EC_INT8_DSP_DEPTHWISE_3X3_H

/* See ec_int8_columns.  Of four channels and three rows, `columns` > 0 of them: a pair of the first two
   rows for each channel, and of the third a pair of channels; channels 0 and 2 first, then 1 and 3. */
typedef struct ec_int8_columns_job {
    const int8_t *row[3];
    ptrdiff_t at;
    int16_t *panel;
    ptrdiff_t pixel, end;
} ec_int8_columns_job;

EC_NAKED void ec_int8_columns_dsp(const ec_int8_columns_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r0-r6}\n"
        "1:\n"
        "ldr r11, [r0, r3]\n"
        "ldr r12, [r1, r3]\n"
        "ldr lr, [r2, r3]\n"
        "add r3, r3, r5\n"
        "pkhbt r9, r11, r12, lsl #16\n"
        "pkhtb r10, r12, r11, asr #16\n"
        "sxtb16 r7, r9\n"
        "sxtb16 r8, r10\n"
        "sxtb16 r11, r10, ror #8\n"
        "str r8, [r4, #4]\n"
        "sxtb16 r10, r9, ror #8\n"
        "str r11, [r4, #16]\n"
        "sxtb16 r9, lr\n"
        "str r10, [r4, #12]\n"
        "sxtb16 r12, lr, ror #8\n"
        "str r9, [r4, #8]\n"
        "str r12, [r4, #20]\n"
        "str r7, [r4], #24\n"
        "cmp r3, r6\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_windows.  panel_skip: bytes from a window to the next one's, less those of a window. */
typedef struct ec_int8_depthwise_job {
    const int16_t *panel;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t offset, right;
    ptrdiff_t panel_skip, out_pixel;
} ec_int8_depthwise_job;

/* r0 panel, r1 filters, r2 to r5 sums, r6 to r8 numbers of the panel, r9 to r11 of filters: each by itself where a load of
   several takes a cycle more. */
#ifdef EC_DUAL_ISSUE
#define EC_INT8_THREE_WORDS "ldm r0!, {r6-r8}\n" "ldm r1!, {r9-r11}\n"
#else
#define EC_INT8_THREE_WORDS                                                                       \
    "ldr r6, [r0], #4\n"                                                                          \
    "ldr r9, [r1], #4\n"                                                                          \
    "ldr r7, [r0], #4\n"                                                                          \
    "ldr r10, [r1], #4\n"                                                                         \
    "ldr r8, [r0], #4\n"                                                                          \
    "ldr r11, [r1], #4\n"
#endif
#define EC_INT8_HALF_COLUMN(first, second)                                                        \
    EC_INT8_THREE_WORDS                                                                           \
    "smlad " first ", r6, r9, " first "\n"                                                        \
    "smlad " second ", r7, r10, " second "\n"                                                     \
    "smlabb " first ", r8, r11, " first "\n"                                                      \
    "smlatt " second ", r8, r11, " second "\n"
#define EC_INT8_COLUMN EC_INT8_HALF_COLUMN("r2", "r4") EC_INT8_HALF_COLUMN("r3", "r5")

EC_NAKED void ec_int8_depthwise_dsp(const ec_int8_depthwise_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r4-r11}\n"
        "mov r0, r4\n"
        "mov r1, r5\n"
        "mov r12, r6\n"
        "mov lr, r11\n"
        "push {r7-r10}\n" /* 0 end of out, 4 offset, 8 right, 12 panel_skip */
        "1:\n"
        "ldm r1!, {r2-r5}\n"
        EC_INT8_COLUMN EC_INT8_COLUMN EC_INT8_COLUMN
        "ldm r1, {r6-r9}\n"
        "ldrd r10, r11, [sp, #4]\n"
        EC_INT8_REQUANTISE("r2", "r6", "r10", "r11", "r1, #16", "16")
        EC_INT8_REQUANTISE("r3", "r7", "r10", "r11", "r1, #20", "16")
        EC_INT8_REQUANTISE("r4", "r8", "r10", "r11", "r1, #24", "16")
        EC_INT8_REQUANTISE("r5", "r9", "r10", "r11", "r1, #28", "16")
        "ldr r6, [sp, #12]\n"
        "ldr r7, [sp]\n"
        "strb r2, [r12]\n"
        "strb r3, [r12, #1]\n"
        "strb r4, [r12, #2]\n"
        "strb r5, [r12, #3]\n"
        "add r12, r12, lr\n"
        "sub r1, r1, #88\n"
        "add r0, r0, r6\n"
        "cmp r12, r7\n"
        "bne 1b\n"
        "add sp, sp, #16\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_row_apart: four channels of windows whose rows lie `pixel` bytes a column, `next` bytes from one to the
   next. */
typedef struct ec_int8_3x3_job {
    const int8_t *row[3];
    ptrdiff_t pixel;
    const int32_t *channels;
    int8_t *out, *out_end;
    ptrdiff_t next, out_pixel;
    int32_t offset, right;
} ec_int8_3x3_job;

/* r0 to r2 rows, r3 pixel, r4 to r7 sums, r12 channels; `at`: what a column adds to rows, `filters` where its filters begin. */
#define EC_INT8_3X3_COLUMN(at, filters)                                                           \
    "ldr.w r8, [r0" at "]\n"                                                                      \
    "ldr.w r9, [r1" at "]\n"                                                                      \
    "ldr.w r10, [r2" at "]\n"                                                                     \
    "ldr.w lr, [r12, #" filters "]\n"                                                             \
    "pkhbt r11, r8, r9, lsl #16\n"                                                                \
    "pkhtb r9, r9, r8, asr #16\n"                                                                 \
    "sxtb16 r8, r11\n"                                                                            \
    "smlad r4, r8, lr, r4\n"                                                                      \
    "sxtb16 r11, r11, ror #8\n"                                                                   \
    "ldr.w r8, [r12, #" filters "+12]\n"                                                          \
    "ldr.w lr, [r12, #" filters "+4]\n"                                                           \
    "smlad r5, r11, r8, r5\n"                                                                     \
    "sxtb16 r11, r9\n"                                                                            \
    "sxtb16 r9, r9, ror #8\n"                                                                     \
    "smlad r6, r11, lr, r6\n"                                                                     \
    "ldr.w r8, [r12, #" filters "+16]\n"                                                          \
    "ldr.w r11, [r12, #" filters "+8]\n"                                                          \
    "ldr.w lr, [r12, #" filters "+20]\n"                                                          \
    "smlad r7, r9, r8, r7\n"                                                                      \
    "sxtb16 r9, r10\n"                                                                            \
    "smlabb r4, r9, r11, r4\n"                                                                    \
    "sxtb16 r10, r10, ror #8\n"                                                                   \
    "smlatt r6, r9, r11, r6\n"                                                                    \
    "smlabb r5, r10, lr, r5\n"                                                                    \
    "smlatt r7, r10, lr, r7\n"
/* By multipliers, 88 bytes on. */
#ifdef EC_INT8_RIGHT
#define EC_INT8_3X3_RESULTS                                                                       \
    "ldr lr, [sp, #16]\n"                                                                         \
    "ldr.w r8, [r12, #88]\n"                                                                      \
    "ldr.w r9, [r12, #92]\n"                                                                      \
    "ldr.w r10, [r12, #96]\n"                                                                     \
    "ldr.w r11, [r12, #100]\n"                                                                    \
    "smmla r4, r4, r8, lr\n"                                                                      \
    "smmla r5, r5, r9, lr\n"                                                                      \
    "ssat r4, #8, r4, asr #" EC_INT8_BITS "\n"                                                    \
    "smmla r6, r6, r10, lr\n"                                                                     \
    "ssat r5, #8, r5, asr #" EC_INT8_BITS "\n"                                                    \
    "smmla r7, r7, r11, lr\n"                                                                     \
    "ssat r6, #8, r6, asr #" EC_INT8_BITS "\n"                                                    \
    "ssat r7, #8, r7, asr #" EC_INT8_BITS "\n"
#else
#define EC_INT8_REQUANTISE_3X3(sum, multiplier, at)                                               \
    EC_INT8_REQUANTISE(sum, multiplier, "lr", "r10", "r12, #104+" at, "16")
#define EC_INT8_3X3_RESULTS                                                                       \
    "ldr lr, [sp, #16]\n"                                                                         \
    "ldr.w r10, [sp, #20]\n"                                                                      \
    "ldr.w r8, [r12, #88]\n"                                                                      \
    "ldr.w r9, [r12, #92]\n"                                                                      \
    EC_INT8_REQUANTISE_3X3("r4", "r8", "0") EC_INT8_REQUANTISE_3X3("r5", "r9", "4")               \
    "ldr.w r8, [r12, #96]\n"                                                                      \
    "ldr.w r9, [r12, #100]\n"                                                                     \
    EC_INT8_REQUANTISE_3X3("r6", "r8", "8") EC_INT8_REQUANTISE_3X3("r7", "r9", "12")
#endif

EC_NAKED void ec_int8_3x3_dsp(const ec_int8_3x3_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "mov r8, r0\n"
        "ldm r8!, {r0-r3, r12}\n"
        "ldm r8, {r4-r9}\n"
        "push {r4-r9}\n" /* 0 out, 4 its end, 8 next, 12 out_pixel, 16 offset, 20 right */
        "1:\n"
        "ldm r12, {r4-r7}\n"
        EC_INT8_3X3_COLUMN("", "16") EC_INT8_3X3_COLUMN(", r3", "40") EC_INT8_3X3_COLUMN(", r3, lsl #1", "64")
        EC_INT8_3X3_RESULTS
        "ldr.w r8, [sp]\n"
        "ldr.w r9, [sp, #12]\n"
        "ldr.w r10, [sp, #8]\n"
        "ldr.w r11, [sp, #4]\n"
        "strb r4, [r8]\n"
        "strb r5, [r8, #1]\n"
        "strb r6, [r8, #2]\n"
        "strb r7, [r8, #3]\n"
        "add r8, r8, r9\n"
        "add r0, r0, r10\n"
        "add r1, r1, r10\n"
        "add r2, r2, r10\n"
        "str r8, [sp]\n"
        "cmp r8, r11\n"
        "bne 1b\n"
        "add sp, sp, #24\n"
        "pop {r4-r11, pc}\n");
}

#endif
