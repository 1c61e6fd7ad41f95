/* Inner loops of int8 for Armv7E-M and Armv8-M with DSP: SMLAD multiplies two pairs of int16, SXTB16 makes
   such a pair of bytes 0 and 2 of a word, and of bytes 1 and 3 where the word is rotated by 8.

   Written in assembly, since every register holds something: compilers spill sums.  Of each function the
   C next to its caller says what it computes.  All loops count instructions of four bytes, so that the
   remainder of an unrolled loop is an address in it. */
#ifndef EC_INT8_DSP_H
#define EC_INT8_DSP_H

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define EC_NAKED static __attribute__((naked, noinline, noipa, unused))
#endif
#endif
#ifndef EC_NAKED
#define EC_NAKED static __attribute__((naked, noinline, unused))
#endif

/* r0 panel, r1 filters, r2 to r4 sums of the first filter, r5 to r7 of the second, for three pixels.
   r8, r9 four bytes of either filter, of which r10, r11 take 0 and 2; r12, lr four numbers of a pixel.
   The first pixel's are multiplied between what takes the bytes apart: a Cortex-M7 does one of either in a
   cycle, and what is loaded waits for neither. */
#define EC_INT8_PIXEL(first, second)                                                              \
    "ldrd r12, lr, [r0], #8\n"                                                                    \
    "smlad " first ", r12, r10, " first "\n"                                                      \
    "smlad " second ", r12, r11, " second "\n"                                                    \
    "smlad " first ", lr, r8, " first "\n"                                                        \
    "smlad " second ", lr, r9, " second "\n"
#define EC_INT8_QUAD                                                                              \
    "ldrd r8, r9, [r1], #8\n"                                                                     \
    "ldrd r12, lr, [r0], #8\n"                                                                    \
    "sxtb16 r10, r8\n"                                                                            \
    "sxtb16 r11, r9\n"                                                                            \
    "smlad r2, r12, r10, r2\n"                                                                    \
    "sxtb16 r8, r8, ror #8\n"                                                                     \
    "smlad r5, r12, r11, r5\n"                                                                    \
    "sxtb16 r9, r9, ror #8\n"                                                                     \
    "smlad r2, lr, r8, r2\n"                                                                      \
    "smlad r5, lr, r9, r5\n"                                                                      \
    EC_INT8_PIXEL("r3", "r6") EC_INT8_PIXEL("r4", "r7")
enum { EC_INT8_QUAD_BYTES = 20 * 4, EC_INT8_QUADS = 4 };

/* A sum becomes the integer that is stored. */
#define EC_INT8_REQUANTISE(sum, multiplier, offset, right)                                                          \
    "smmla " sum ", " sum ", " multiplier ", " offset "\n"                                        \
    "asr " sum ", " sum ", " right "\n"                                                           \
    "ssat " sum ", #8, " sum "\n"

/* See ec_int8_tile.  skip: bytes of the first pass through the loop that are left out. */
typedef struct ec_int8_tile_job {
    const int16_t *panel, *panel_end;
    const int32_t *channels, *channels_end;
    int8_t *out;
    ptrdiff_t out_pixel;
    int32_t offset, right;
    ptrdiff_t skip;
    const int8_t *filters;
} ec_int8_tile_job;

EC_NAKED void ec_int8_tile_dsp(const ec_int8_tile_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldrd r2, r1, [r0, #32]\n" /* skip, filters */
        "adr r3, 2f\n"
        "add r2, r2, r3\n"
        "ldm r0, {r4-r11}\n"
        "push {r2, r3}\n" /* entry */
        "push {r4-r11}\n" /* 0 panel, 4 its end, 8 channels, 12 their end, 16 out, 20 out_pixel,
                             24 offset, 28 right, 32 entry */
        "1:\n" /* two filters */
        "ldr lr, [sp, #8]\n"
        "ldr r0, [sp]\n"
        "ldrd r2, r5, [lr]\n"
        "ldr r12, [sp, #32]\n"
        "mov r3, r2\n"
        "mov r4, r2\n"
        "mov r6, r5\n"
        "mov r7, r5\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_QUAD EC_INT8_QUAD EC_INT8_QUAD EC_INT8_QUAD
        "ldr r12, [sp, #4]\n"
        "cmp r0, r12\n"
        "bne 2b\n"
        "ldr lr, [sp, #8]\n"
        "ldrd r10, r11, [sp, #24]\n"
        "ldrd r8, r9, [lr, #8]\n"
        "add lr, lr, #16\n"
        "str lr, [sp, #8]\n"
        EC_INT8_REQUANTISE("r2", "r8", "r10", "r11")
        EC_INT8_REQUANTISE("r3", "r8", "r10", "r11")
        EC_INT8_REQUANTISE("r4", "r8", "r10", "r11")
        EC_INT8_REQUANTISE("r5", "r9", "r10", "r11")
        EC_INT8_REQUANTISE("r6", "r9", "r10", "r11")
        EC_INT8_REQUANTISE("r7", "r9", "r10", "r11")
        "ldrd r12, r0, [sp, #16]\n"
        "strb r3, [r12, r0]\n"
        "strb r4, [r12, r0, lsl #1]\n"
        "strb r2, [r12], #1\n"
        "strb r6, [r12, r0]\n"
        "strb r7, [r12, r0, lsl #1]\n"
        "strb r5, [r12], #1\n"
        "str r12, [sp, #16]\n"
        "ldr r12, [sp, #12]\n"
        "cmp lr, r12\n"
        "bne 1b\n"
        "add sp, sp, #40\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_widen_rows.  Of each of `rows` > 0 rows `quads` > 0 times four bytes to pairs of int16,
   24 bytes apart.  skip: bytes from the end of what a row reads to the next row. */
EC_NAKED void ec_int8_widen_dsp(const int8_t *from __attribute__((unused)),
                                int16_t *panel __attribute__((unused)), int quads __attribute__((unused)),
                                ptrdiff_t skip __attribute__((unused)), int rows __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r8, lr}\n"
        "ldr r12, [sp, #24]\n" /* rows */
        "sub r2, r2, #2\n"
        "1:\n" /* a row */
        "adds lr, r2, #0\n"
        "blt 3f\n"
        "2:\n"
        "ldr r4, [r0], #4\n"
        "ldr r6, [r0], #4\n"
        "sxtb16 r5, r4, ror #8\n"
        "sxtb16 r4, r4\n"
        "strd r4, r5, [r1], #24\n"
        "sxtb16 r7, r6, ror #8\n"
        "sxtb16 r6, r6\n"
        "strd r6, r7, [r1], #24\n"
        "subs lr, lr, #2\n"
        "bge 2b\n"
        "3:\n"
        "adds lr, lr, #1\n"
        "bne 4f\n"
        "ldr r4, [r0], #4\n"
        "sxtb16 r5, r4, ror #8\n"
        "sxtb16 r4, r4\n"
        "strd r4, r5, [r1], #24\n"
        "4:\n"
        "add r0, r0, r3\n"
        "subs r12, r12, #1\n"
        "bne 1b\n"
        "pop {r4-r8, pc}\n");
}

/* See ec_int8_dot.  skip as above, of a loop of two quads. */
typedef struct ec_int8_dot_job {
    const int8_t *in, *in_end;
    const int32_t *channels, *channels_end;
    int32_t offset, right;
    ptrdiff_t skip;
    int8_t *out;
    const int8_t *filters;
} ec_int8_dot_job;

/* r0 input, r1 filters, r2 to r5 sums, r6 to r9 bytes of filters, r11, r12 of the input, lr its end. */
#define EC_INT8_DOT(sum, filter)                                                                  \
    "sxtb16 r10, " filter "\n"                                                                    \
    "sxtb16 " filter ", " filter ", ror #8\n"                                                     \
    "smlad " sum ", r11, r10, " sum "\n"                                                          \
    "smlad " sum ", r12, " filter ", " sum "\n"
#define EC_INT8_DOT_QUAD                                                                          \
    "ldr.w r11, [r0], #4\n"                                                                       \
    "ldmia.w r1!, {r6-r9}\n"                                                                      \
    "sxtb16 r12, r11, ror #8\n"                                                                   \
    "sxtb16 r11, r11\n"                                                                           \
    EC_INT8_DOT("r2", "r6") EC_INT8_DOT("r3", "r7") EC_INT8_DOT("r4", "r8") EC_INT8_DOT("r5", "r9")
enum { EC_INT8_DOT_BYTES = 20 * 4, EC_INT8_DOT_QUADS = 4 };

EC_NAKED void ec_int8_dot_dsp(const ec_int8_dot_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r1, [r0, #32]\n"
        "ldm r0, {r4-r11}\n"
        "adr r2, 2f\n"
        "add r10, r10, r2\n"
        "sub sp, sp, #4\n"
        "push {r4-r11}\n" /* 0 in, 4 its end, 8 channels, 12 their end, 16 offset, 20 right, 24 entry,
                             28 out */
        "mov r12, r6\n"
        "1:\n" /* four filters */
        "ldr r0, [sp]\n"
        "ldm r12, {r2-r5}\n"
        "ldr lr, [sp, #4]\n"
        "ldr r12, [sp, #24]\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_DOT_QUAD EC_INT8_DOT_QUAD EC_INT8_DOT_QUAD EC_INT8_DOT_QUAD
        "cmp r0, lr\n"
        "bne 2b\n"
        "ldr r12, [sp, #8]\n"
        "ldrd r10, r11, [sp, #16]\n"
        "add r0, r12, #16\n"
        "ldm r0!, {r6-r9}\n"
        "str r0, [sp, #8]\n"
        EC_INT8_REQUANTISE("r2", "r6", "r10", "r11")
        EC_INT8_REQUANTISE("r3", "r7", "r10", "r11")
        EC_INT8_REQUANTISE("r4", "r8", "r10", "r11")
        EC_INT8_REQUANTISE("r5", "r9", "r10", "r11")
        "ldr r10, [sp, #12]\n"
        "ldr lr, [sp, #28]\n"
        "strb r3, [lr, #1]\n"
        "strb r4, [lr, #2]\n"
        "strb r5, [lr, #3]\n"
        "strb r2, [lr], #4\n"
        "str lr, [sp, #28]\n"
        "mov r12, r0\n"
        "cmp r0, r10\n"
        "bne 1b\n"
        "add sp, sp, #36\n"
        "pop {r4-r11, pc}\n");
}

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
        "sxtb16 r9, r11\n"
        "sxtb16 r8, r12\n"
        "pkhbt r7, r9, r8, lsl #16\n"
        "pkhtb r8, r8, r9, asr #16\n"
        "sxtb16 r9, lr\n"
        "sxtb16 r11, r11, ror #8\n"
        "sxtb16 r12, r12, ror #8\n"
        "pkhbt r10, r11, r12, lsl #16\n"
        "pkhtb r11, r12, r11, asr #16\n"
        "sxtb16 r12, lr, ror #8\n"
        "stm r4!, {r7-r12}\n"
        "cmp r3, r6\n"
        "bne 1b\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_depthwise_row.  panel_skip: bytes from a window to the next one's, less those of a window. */
typedef struct ec_int8_depthwise_job {
    const int16_t *panel;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t offset, right;
    ptrdiff_t panel_skip, out_pixel;
} ec_int8_depthwise_job;

/* r0 panel, r1 filters, r2 to r5 sums, r6 to r8 numbers of the panel, r9 to r11 of filters. */
#define EC_INT8_HALF_COLUMN(first, second)                                                        \
    "ldm r0!, {r6-r8}\n"                                                                          \
    "ldm r1!, {r9-r11}\n"                                                                         \
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
        EC_INT8_REQUANTISE("r2", "r6", "r10", "r11")
        EC_INT8_REQUANTISE("r3", "r7", "r10", "r11")
        EC_INT8_REQUANTISE("r4", "r8", "r10", "r11")
        EC_INT8_REQUANTISE("r5", "r9", "r10", "r11")
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

#endif
