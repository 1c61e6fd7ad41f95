/* Loop of ec_int8_depthwise_3x3_6x2.h for cores with DSP.  Needs ec_int8_dsp_3x3_2x2.h. */
#ifndef EC_INT8_DSP_3X3_6X2_H
#define EC_INT8_DSP_3X3_6X2_H

/* Of four rows that ec_int8_2x2_columns_dsp takes apart, the pairs of a column of eight: from `panel` on, two of each four. */
EC_NAKED void ec_int8_6x2_columns_dsp(const ec_int8_2x2_columns_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_2X2_COLUMNS("64", "16", "32", "48"));
}

/* Where the results of two rows lie, in bytes: the first one's, from there the second one's, 0 where there is none, and those of
   the first one's last column. */
typedef struct ec_int8_row_places {
    ptrdiff_t first, second, last;
} ec_int8_row_places;

/* See ec_int8_6x2_by_four: of four channels, `count` times two rows.  is_odd: how many times two columns are computed. */
typedef struct ec_int8_3x3_6x2_job {
    const int16_t *panel;
    const int32_t *words;
    int8_t *out;
    const ec_int8_row_places *rows;
    ptrdiff_t pixel, count;
    int32_t offset, right, is_odd;
} ec_int8_3x3_6x2_job;

/* All columns of two rows, four at a time from label 2 on, or from 5 on two first; if one is left over, it is computed with the
   one before once more. */
#define EC_INT8_6X2_WINDOWS                                                                       \
    "2:\n"                                                                                        \
    EC_INT8_2X2_TWO_COLUMNS("64", "")                                                             \
    "5:\n"                                                                                        \
    EC_INT8_2X2_TWO_COLUMNS("64", EC_INT8_2X2_LAST)                                               \
    "cmp r8, r9\n"                                                                                \
    "blo 2b\n"                                                                                    \
    "bne 3f\n"                                                                                    \
    "sub r8, r8, r1\n"                                                                            \
    "str r8, [sp, #24]\n"                                                                         \
    "sub r0, r0, #64\n"                                                                           \
    "b 5b\n"

/* Two columns of the windows of the first row alone. */
#define EC_INT8_6X2_OF_ONE(sum, from, pair, next)                                                 \
    "smlad " sum ", r8, " pair ", " from "\n"                                                     \
    "smlabt " sum ", r9, " next ", " sum "\n"
#define EC_INT8_6X2_ONE_ROW                                                                       \
    "6:\n"                                                                                        \
    "ldr r1, [sp, #20]\n"                                                                         \
    "ldr.w r9, [r0, #4]\n"                                                                        \
    "ldr r8, [r0], #64\n"                                                                         \
    EC_INT8_6X2_OF_ONE("r10", "r1", "r2", "r3")                                                   \
    "ldrd r8, r9, [r0], #64\n"                                                                    \
    EC_INT8_6X2_OF_ONE("r12", "r1", "r2", "r3")                                                   \
    EC_INT8_6X2_OF_ONE("r10", "r10", "r4", "r5")                                                  \
    "ldrd r8, r9, [r0], #64\n"                                                                    \
    EC_INT8_6X2_OF_ONE("r12", "r12", "r4", "r5")                                                  \
    EC_INT8_6X2_OF_ONE("r10", "r10", "r6", "r7")                                                  \
    "ldrd r8, r9, [r0], #-64\n"                                                                   \
    EC_INT8_6X2_OF_ONE("r12", "r12", "r6", "r7")                                                  \
    EC_INT8_2X2_WITH_TIES("strd")                                                                 \
    "ldm sp, {r1, r8, r9}\n"                                                                      \
    EC_INT8_BESIDES("r9", "r0", "sp, #12", "4")                                                   \
    EC_INT8_REQUANTISE_NEXT("r10", "r8", "r9", "r1", "r0", "r7", "sp, #12", "4")                  \
    EC_INT8_REQUANTISE_NEXT("r12", "r8", "r9", "r1", "r0", "r7", "sp, #12", "4")                  \
    EC_INT8_2X2_WITH_TIES("ldrd")                                                                 \
    "ldr r8, [sp, #24]\n"                                                                         \
    "ldr r1, [sp, #32]\n"                                                                         \
    "strb r12, [r8, r1]\n"                                                                        \
    "strb r10, [r8]\n"                                                                            \
    EC_INT8_2X2_LAST                                                                              \
    "add r8, r8, r1, lsl #1\n"                                                                    \
    "str r8, [sp, #24]\n"                                                                         \
    "cmp r8, r9\n"                                                                                \
    "blo 6b\n"                                                                                    \
    "bne 3f\n"                                                                                    \
    "sub r8, r8, r1\n"                                                                            \
    "str r8, [sp, #24]\n"                                                                         \
    "sub r0, r0, #64\n"                                                                           \
    "b 6b\n"

EC_NAKED void ec_int8_3x3_6x2_dsp(const ec_int8_3x3_6x2_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr lr, [r0, #32]\n"
        "ldm r0, {r0-r7}\n"
        "sub sp, sp, #92\n" /* as in ec_int8_3x3_2x2_dsp: 0 right, 4 multiplier, 8 offset, 12 what else a channel has, 20 start,
                               24 out, 28 second, 32 pixel, 36 last; 40 panel of the rows, 44 words, 48 out of the channel,
                               52 channels left, 56 what is kept, 64 the rows' places, 68 how many, 72 those left, 76 how
                               many, 80 is_odd */
        "str lr, [sp, #80]\n"
        "str r7, [sp]\n"
        "str r6, [sp, #8]\n"
        "str r4, [sp, #32]\n"
        "strd r3, r5, [sp, #64]\n"
        "mov r3, #4\n"
        "strd r2, r3, [sp, #48]\n"
        "1:\n" /* a channel: r0 panel, r1 words */
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
        "ldr r11, [sp, #64]\n"
        "ldr r12, [sp, #68]\n"
        "str r12, [sp, #76]\n"
        "4:\n" /* two rows: r0 panel, r11 where they lie */
        "ldr lr, [sp, #80]\n"
        "ldr r12, [sp, #48]\n"
        "ldr r8, [r11, #8]\n"
        "ldr r9, [r11, #4]\n"
        "ldr r10, [r11], #12\n"
        "add r8, r8, r12\n"
        "add r10, r10, r12\n"
        "str r8, [sp, #36]\n"
        "str r9, [sp, #28]\n"
        "str r10, [sp, #24]\n"
        "str r11, [sp, #72]\n"
        "cmp r9, #0\n"
        "beq 6f\n"
        "cmp lr, #0\n"
        "bne 5f\n"
        EC_INT8_6X2_WINDOWS
        EC_INT8_6X2_ONE_ROW
        "3:\n"
        "ldr r0, [sp, #40]\n"
        "ldr r12, [sp, #76]\n"
        "ldr r11, [sp, #72]\n"
        "add r0, r0, #4\n"
        "subs r12, r12, #1\n"
        "str r0, [sp, #40]\n"
        "str r12, [sp, #76]\n"
        "bne 4b\n"
        "ldr r4, [sp, #68]\n"
        "ldr r1, [sp, #44]\n"
        "ldrd r2, r3, [sp, #48]\n"
        "sub r0, r0, r4, lsl #2\n"
        "add r2, r2, #1\n"
        "add r0, r0, #16\n"
        "subs r3, r3, #1\n"
        "strd r2, r3, [sp, #48]\n"
        "bne 1b\n"
        "add sp, sp, #92\n"
        "pop {r4-r11, pc}\n");
}

#endif
