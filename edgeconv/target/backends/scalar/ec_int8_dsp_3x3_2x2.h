/* Loops of ec_int8_depthwise_3x3_2x2.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_3X3_2X2_H
#define EC_INT8_DSP_3X3_2X2_H

/* See ec_int8_2x2_columns_3x3: of four channels. */
typedef struct ec_int8_2x2_columns_job {
    const int8_t *row[4];
    ptrdiff_t at;
    int16_t *panel;
    ptrdiff_t pixel, end;
} ec_int8_2x2_columns_job;

/* Of two rows in a and b the pairs of four channels, to r5, from `first` on: halves of both words are put together before
   bytes are taken apart.  Leaves r11 and lr to be written over. */
#define EC_INT8_2X2_ROWS_OF_COLUMN(a, b, first, second, third, fourth)                            \
    "pkhbt r11, " a ", " b ", lsl #16\n"                                                          \
    "pkhtb " a ", " b ", " a ", asr #16\n"                                                        \
    "sxtb16 lr, r11\n"                                                                            \
    "sxtb16 r11, r11, ror #8\n"                                                                   \
    "str lr, [r5, #" first "]\n"                                                                  \
    "sxtb16 " b ", " a "\n"                                                                       \
    "str r11, [r5, #" second "]\n"                                                                \
    "sxtb16 " a ", " a ", ror #8\n"                                                               \
    "str " b ", [r5, #" third "]\n"                                                               \
    "str " a ", [r5" fourth "\n"

/* Four rows taken apart, pair by pair of these, into a panel of `column` bytes a column, where pairs are `pair` bytes apart: the
   first two rows at 0, `pair`, `twice` and `last`, the others 4 bytes behind. */
#define EC_INT8_2X2_COLUMNS(column, pair, twice, last)                                            \
    "push {r4-r11, lr}\n"                                                                         \
    "ldr r12, [r0, #28]\n"                                                                        \
    "ldm r0, {r0-r6}\n"                                                                           \
    "1:\n"                                                                                        \
    "ldr r7, [r0, r4]\n"                                                                          \
    "ldr r8, [r1, r4]\n"                                                                          \
    "ldr r9, [r2, r4]\n"                                                                          \
    "ldr r10, [r3, r4]\n"                                                                         \
    "add r4, r4, r6\n"                                                                            \
    EC_INT8_2X2_ROWS_OF_COLUMN("r7", "r8", "0", pair, twice, ", #" last "]")                      \
    "add r5, r5, #" column "\n"                                                                   \
    EC_INT8_2X2_ROWS_OF_COLUMN("r9", "r10", "4-" column, "4+" pair "-" column,                    \
                               "4+" twice "-" column, ", #4+" last "-" column "]")                \
    "cmp r4, r12\n"                                                                               \
    "bne 1b\n"                                                                                    \
    "pop {r4-r11, pc}\n"

EC_NAKED void ec_int8_2x2_columns_dsp(const ec_int8_2x2_columns_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_2X2_COLUMNS("32", "8", "16", "24"));
}

/* See ec_int8_2x2_windows_3x3: of four channels.  last: where the results of the last column lie; if a column is left
   over, it is computed with the one before once more. */
typedef struct ec_int8_3x3_2x2_job {
    const int16_t *panel;
    const int32_t *words;
    int8_t *out;
    const int8_t *last;
    ptrdiff_t pixel, second;
    int32_t offset, right;
} ec_int8_3x3_2x2_job;

/* r2 to r7 filters of three columns; r8, r9 a column of the panel, at r0; r10, r11 sums of both rows, r12, lr those of the
   next column.  `from`: of the first ones; `column`: bytes from a column to the next. */
#ifdef EC_DUAL_ISSUE
/* Every SMLAD has a load beside it or another one behind it: a column's second word is loaded as its first is multiplied. */
#define EC_INT8_2X2_FIRST(first, second, from_first, from_second, pair)                           \
    "smlad " first ", r8, " pair ", " from_first "\n"                                             \
    "smlatb " second ", r8, " pair ", " from_second "\n"
#define EC_INT8_2X2_SECOND(first, second, next)                                                   \
    "smlabt " first ", r9, " next ", " first "\n"                                                 \
    "smlad " second ", r9, " next ", " second "\n"
#define EC_INT8_2X2_FOUR_COLUMNS(column)                                                          \
    "ldr r1, [sp, #20]\n"                                                                         \
    "ldr r8, [r0]\n"                                                                              \
    "ldr r9, [r0, #4]\n"                                                                          \
    EC_INT8_2X2_FIRST("r10", "r11", "r1", "r1", "r2")                                             \
    "ldr r8, [r0, #" column "]\n"                                                                 \
    EC_INT8_2X2_SECOND("r10", "r11", "r3")                                                        \
    "ldr r9, [r0, #" column "+4]\n"                                                               \
    EC_INT8_2X2_FIRST("r12", "lr", "r1", "r1", "r2")                                              \
    EC_INT8_2X2_FIRST("r10", "r11", "r10", "r11", "r4")                                           \
    "ldr r8, [r0, #2*" column "]\n"                                                               \
    EC_INT8_2X2_SECOND("r12", "lr", "r3")                                                         \
    "ldr r1, [sp]\n"                                                                              \
    EC_INT8_2X2_SECOND("r10", "r11", "r5")                                                        \
    "ldr r9, [r0, #2*" column "+4]\n"                                                             \
    EC_INT8_2X2_FIRST("r10", "r11", "r10", "r11", "r6")                                           \
    EC_INT8_2X2_FIRST("r12", "lr", "r12", "lr", "r4")                                             \
    "ldr r8, [r0, #3*" column "]\n"                                                               \
    EC_INT8_2X2_SECOND("r10", "r11", "r7")                                                        \
    EC_INT8_2X2_SECOND("r12", "lr", "r5")                                                         \
    "ldr r9, [r0, #3*" column "+4]\n"                                                             \
    EC_INT8_2X2_FIRST("r12", "lr", "r12", "lr", "r6")                                             \
    "ldr r8, [sp, #4]\n"                                                                          \
    EC_INT8_2X2_SECOND("r12", "lr", "r7")                                                         \
    "ldr r9, [sp, #8]\n"                                                                          \
    "add r0, r0, #2*" column "\n"
#define EC_INT8_2X2_SCALING /* is loaded */
#else
#define EC_INT8_2X2_OF_COLUMN(first, second, from_first, from_second, pair, next)                 \
    "smlad " first ", r8, " pair ", " from_first "\n"                                             \
    "smlatb " second ", r8, " pair ", " from_second "\n"                                          \
    "smlabt " first ", r9, " next ", " first "\n"                                                 \
    "smlad " second ", r9, " next ", " second "\n"
#define EC_INT8_2X2_LEFT(pair, next) EC_INT8_2X2_OF_COLUMN("r10", "r11", "r10", "r11", pair, next)
#define EC_INT8_2X2_RIGHT(pair, next) EC_INT8_2X2_OF_COLUMN("r12", "lr", "r12", "lr", pair, next)
#define EC_INT8_2X2_FOUR_COLUMNS(column)                                                          \
    "ldr r1, [sp, #20]\n"                                                                         \
    "ldr.w r9, [r0, #4]\n"                                                                        \
    "ldr r8, [r0], #" column "\n"                                                                 \
    EC_INT8_2X2_OF_COLUMN("r10", "r11", "r1", "r1", "r2", "r3")                                   \
    "ldrd r8, r9, [r0], #" column "\n"                                                            \
    EC_INT8_2X2_OF_COLUMN("r12", "lr", "r1", "r1", "r2", "r3")                                    \
    EC_INT8_2X2_LEFT("r4", "r5")                                                                  \
    "ldrd r8, r9, [r0], #" column "\n"                                                            \
    EC_INT8_2X2_RIGHT("r4", "r5")                                                                 \
    EC_INT8_2X2_LEFT("r6", "r7")                                                                  \
    "ldrd r8, r9, [r0], #-" column "\n"                                                           \
    EC_INT8_2X2_RIGHT("r6", "r7")
#ifdef EC_INT8_RIGHT
#define EC_INT8_2X2_SCALING "ldrd r8, r9, [sp, #4]\n"
#else
#define EC_INT8_2X2_SCALING "ldm sp, {r1, r8, r9}\n"
#endif
#endif
/* Registers that this writes over where a channel has so many words. */
#define EC_INT8_2X2_WITH_TIES(instruction) ".if " EC_INT8_BEYOND " > 1\n" instruction " r0, r7, [sp, #56]\n.endif\n"

/* Two columns of the windows of two rows: start, multiplier, offset, out, second and pixel lie in the frame of
   ec_int8_3x3_2x2_dsp; r8: where the next one lies.  `last`: loads r9, where the last one does. */
#define EC_INT8_2X2_LAST "ldr r9, [sp, #36]\n"
#define EC_INT8_2X2_TWO_COLUMNS(column, last)                                                     \
    EC_INT8_2X2_FOUR_COLUMNS(column)                                                              \
    EC_INT8_2X2_WITH_TIES("strd")                                                                 \
    EC_INT8_2X2_SCALING                                                                           \
    EC_INT8_BESIDES("r9", "r0", "sp, #12", "4")                                                   \
    EC_INT8_REQUANTISE_FOUR("r10", "r11", "r12", "lr", "r8", "r9", "r1", "r0", "r7", "sp, #12", "4")\
    EC_INT8_2X2_WITH_TIES("ldrd")                                                                 \
    "ldrd r8, r9, [sp, #24]\n"                                                                    \
    "ldr r1, [sp, #32]\n"                                                                         \
    "add r9, r9, r8\n"                                                                            \
    "strb lr, [r9, r1]\n"                                                                         \
    "strb r12, [r8, r1]\n"                                                                        \
    "strb r11, [r9]\n"                                                                            \
    "strb r10, [r8]\n"                                                                            \
    last                                                                                          \
    "add r8, r8, r1, lsl #1\n"                                                                    \
    "str r8, [sp, #24]\n"
/* All columns of these; if one is left over, it is computed with the one before once more. */
#define EC_INT8_2X2_WINDOWS(column)                                                               \
    "2:\n"                                                                                        \
    EC_INT8_2X2_TWO_COLUMNS(column, EC_INT8_2X2_LAST)                                             \
    "cmp r8, r9\n"                                                                                \
    "blo 2b\n"                                                                                    \
    "bne 3f\n"                                                                                    \
    "sub r8, r8, r1\n"                                                                            \
    "str r8, [sp, #24]\n"                                                                         \
    "sub r0, r0, #" column "\n"                                                                   \
    "b 2b\n"                                                                                      \
    "3:\n"

EC_NAKED void ec_int8_3x3_2x2_dsp(const ec_int8_3x3_2x2_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldm r0, {r0-r7}\n"
        "sub sp, sp, #68\n" /* 0 right, 4 multiplier, 8 offset, 12 what else a channel has, 20 start, 24 out, 28 second,
                               32 pixel, 36 last, 40 panel, 44 words, 48 out of the channel, 52 channels left, 56 what is kept */
        "str r7, [sp]\n"
        "str r6, [sp, #8]\n"
        "str r5, [sp, #28]\n"
        "str r4, [sp, #32]\n"
        "strd r2, r3, [sp, #48]\n"
        "str r3, [sp, #36]\n"
        "mov r8, #4\n"
        "str r8, [sp, #52]\n"
        "1:\n" /* a channel: r0 panel, r1 words, r2 out */
        "str r2, [sp, #24]\n"
        "ldm r1!, {r2-r9}\n"
        "str r8, [sp, #20]\n"
        "str r9, [sp, #4]\n"
        ".if " EC_INT8_BEYOND " > 0\n"
        "ldr r8, [r1], #4\n"
        "str r8, [sp, #12]\n"
        ".endif\n"
        ".if " EC_INT8_BEYOND " > 1\n"
        "ldr r8, [r1], #4\n"
        "str r8, [sp, #16]\n"
        ".endif\n"
        "strd r0, r1, [sp, #40]\n"
        EC_INT8_2X2_WINDOWS("32")
        "ldrd r0, r1, [sp, #40]\n"
        "ldrd r2, r3, [sp, #48]\n"
        "ldr r4, [sp, #36]\n"
        "add r0, r0, #8\n"
        "add r2, r2, #1\n"
        "add r4, r4, #1\n"
        "subs r3, r3, #1\n"
        "strd r2, r3, [sp, #48]\n"
        "str r4, [sp, #36]\n"
        "bne 1b\n"
        "add sp, sp, #68\n"
        "pop {r4-r11, pc}\n");
}

#endif
