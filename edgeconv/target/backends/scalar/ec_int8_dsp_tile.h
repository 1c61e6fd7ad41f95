/* Loops of ec_int8_tile.h and ec_int8_panel.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_TILE_H
#define EC_INT8_DSP_TILE_H

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

/* The sums of three pixels of one filter, with what EC_INT8_BESIDES left in r10 and r12; r0 is free. */
#define EC_INT8_THREE_OF_ONE(first, second, third, multiplier, filter)                            \
    EC_INT8_REQUANTISE_THREE(first, second, third, multiplier, "r10", "r11", "r12", "r0",         \
                             "lr, #" filter "-8*" EC_INT8_BEYOND, "8")

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
        EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK EC_INT8_K_BLOCK
        "ldr r12, [sp, #4]\n"
        "cmp r0, r12\n"
        "bne 2b\n"
        "ldr lr, [sp, #8]\n"
        "ldrd r10, r11, [sp, #24]\n"
        "ldrd r8, r9, [lr, #8]\n"
        "add lr, lr, #16\n"
        EC_INT8_SKIP("lr", "#8")
        "str lr, [sp, #8]\n"
        EC_INT8_BESIDES("r10", "r12", "lr, #-8*" EC_INT8_BEYOND, "8")
        EC_INT8_THREE_OF_ONE("r2", "r3", "r4", "r8", "0")
        EC_INT8_BESIDES("r10", "r12", "lr, #4-8*" EC_INT8_BEYOND, "8")
        EC_INT8_THREE_OF_ONE("r5", "r6", "r7", "r9", "4")
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

/* See ec_int8_widen_rows.  Of each of `rows` > 0 rows `k_blocks` > 0 times four bytes to pairs of int16,
   24 bytes apart.  skip: bytes from the end of what a row reads to the next row. */
EC_NAKED void ec_int8_widen_dsp(const int8_t *from __attribute__((unused)),
                                int16_t *panel __attribute__((unused)), int k_blocks __attribute__((unused)),
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

/* `rows` > 0 rows of windows that lie in the input, `apart` bytes from one to the next: of each `k_blocks` times four bytes
   to pairs of int16, and `rest` numbers to rest_at and on, by places.  skip: bytes from the end of a window's row to the
   next one.  advances: from each of four places to the next, in bytes. */
typedef struct ec_int8_windows_job {
    const int8_t *from;
    int16_t *panel;
    int k_blocks;
    ptrdiff_t apart;
    int rows;
    ptrdiff_t skip;
    int rest;
    uint32_t advances;
    int16_t *rest_at;
} ec_int8_windows_job;

/* Whether windows have three rows of nine numbers each. */
EC_INLINE int ec_int8_is_27(const ec_int8_windows_job *job) { return job->rows == 3 && job->k_blocks == 2 && job->rest == 1; }

/* The advances from number `at` of a window on: 4, -2, 4 and 18 bytes. */
EC_INLINE uint32_t ec_int8_advances_from(int at)
{
    const int bits = at % 4 * 8;
    return bits ? 0x1204fe04u >> bits | 0x1204fe04u << (32 - bits) : 0x1204fe04u;
}

/* Packs the windows of the job at r0, in all registers: r0 from, r1 panel, r2 k_blocks, r3 apart, r4 to r9 numbers, r10 rows,
   r11 skip, r12 what is left, lr rest_at. */
#define EC_INT8_WINDOWS(load, widen, load_rest, store_rest)                                       \
    "ldr lr, [r0, #32]\n"                                                                         \
    "ldrd r4, r5, [r0, #24]\n" /* rest, advances */                                               \
    "ldrd r10, r11, [r0, #16]\n"                                                                  \
    "ldm r0, {r0-r3}\n"                                                                           \
    "push {r4, r5}\n"                                                                             \
    "31:\n" /* a row */                                                                           \
    "movs r12, r2\n"                                                                              \
    "beq 33f\n"                                                                                   \
    "32:\n"                                                                                       \
    "ldr r6, [r0, r3]\n"                                                                          \
    load                                                                                          \
    "ldr r4, [r0], #4\n"                                                                          \
    "sxtb16 r7, r6, ror #8\n"                                                                     \
    "sxtb16 r6, r6\n"                                                                             \
    "str r7, [r1, #12]\n"                                                                         \
    widen                                                                                         \
    "sxtb16 r5, r4, ror #8\n"                                                                     \
    "str r6, [r1, #8]\n"                                                                          \
    "sxtb16 r4, r4\n"                                                                             \
    "str r5, [r1, #4]\n"                                                                          \
    "subs r12, r12, #1\n"                                                                         \
    "str r4, [r1], #24\n"                                                                         \
    "bne 32b\n"                                                                                   \
    "33:\n"                                                                                       \
    "ldr r12, [sp]\n"                                                                             \
    "ldr r7, [sp, #4]\n"                                                                          \
    "cmp r12, #0\n"                                                                               \
    "beq 35f\n"                                                                                   \
    "34:\n" /* a number */                                                                        \
    "ldrsb r5, [r0, r3]\n"                                                                        \
    load_rest                                                                                     \
    "ldrsb r4, [r0], #1\n"                                                                        \
    "strh r5, [lr, #8]\n"                                                                         \
    store_rest                                                                                    \
    "strh r4, [lr]\n"                                                                             \
    "sxtab lr, lr, r7\n"                                                                          \
    "ror r7, r7, #8\n"                                                                            \
    "subs r12, r12, #1\n"                                                                         \
    "bne 34b\n"                                                                                   \
    "str r7, [sp, #4]\n"                                                                          \
    "35:\n"                                                                                       \
    "add r0, r0, r11\n"                                                                           \
    "subs r10, r10, #1\n"                                                                         \
    "bne 31b\n"                                                                                   \
    "add sp, sp, #8\n"
#define EC_INT8_PACK_2 EC_INT8_WINDOWS("", "", "", "")
#define EC_INT8_PACK_3                                                                            \
    EC_INT8_WINDOWS("ldr r8, [r0, r3, lsl #1]\n",                                                 \
                    "sxtb16 r9, r8, ror #8\n" "sxtb16 r8, r8\n" "str r9, [r1, #20]\n" "str r8, [r1, #16]\n", \
                    "ldrsb r6, [r0, r3, lsl #1]\n",                                               \
                    "strh r6, [lr, #16]\n")

/* Windows of three rows of nine numbers, three columns of three channels: of the job at r2, from r0, to the panel at r1, two
   of them or, at lr, a third; the last number of each row to a k-block behind the others, which begins 144 bytes on. */
#define EC_INT8_WIDEN_WORD(word, at)                                                              \
    "sxtb16 r10, " word ", ror #8\n"                                                              \
    "sxtb16 " word ", " word "\n"                                                                 \
    "str r10, [r1, #" at "+4]\n"                                                                  \
    "str " word ", [r1, #" at "]\n"
#define EC_INT8_ROW_OF_27(at, last)                                                               \
    "ldr r4, [r0]\n"                                                                              \
    "ldr r5, [r0, #4]\n"                                                                          \
    "ldrsb r6, [r0, #8]\n"                                                                        \
    "ldr r7, [r12]\n"                                                                             \
    "ldr.w r8, [r12, #4]\n"                                                                       \
    "ldrsb r9, [r12, #8]\n"                                                                       \
    EC_INT8_WIDEN_WORD("r4", at)                                                                  \
    EC_INT8_WIDEN_WORD("r5", at "+24")                                                            \
    EC_INT8_WIDEN_WORD("r7", at "+8")                                                             \
    EC_INT8_WIDEN_WORD("r8", at "+32")                                                            \
    "strh r6, [r1, #144+" last "]\n"                                                              \
    "strh r9, [r1, #152+" last "]\n"                                                              \
    "add r0, r0, r11\n"                                                                           \
    "add r12, r12, r11\n"
#define EC_INT8_THIRD_OF_27(at, last)                                                             \
    "ldr.w r4, [lr]\n"                                                                            \
    "ldr.w r5, [lr, #4]\n"                                                                        \
    "ldrsb r6, [lr, #8]\n"                                                                        \
    EC_INT8_WIDEN_WORD("r4", at "+16")                                                            \
    EC_INT8_WIDEN_WORD("r5", at "+40")                                                            \
    "strh r6, [r1, #160+" last "]\n"                                                              \
    "add lr, lr, r11\n"
#define EC_INT8_PACK_2_OF_27                                                                      \
    "ldr.w r12, [r2, #12]\n"                                                                      \
    "ldr.w r11, [r2, #20]\n"                                                                      \
    "add r12, r12, r0\n"                                                                          \
    "add r11, r11, #9\n"                                                                          \
    EC_INT8_ROW_OF_27("0", "0") EC_INT8_ROW_OF_27("48", "4") EC_INT8_ROW_OF_27("96", "2")
#define EC_INT8_PACK_3_OF_27                                                                      \
    "ldr.w r12, [r2, #12]\n"                                                                      \
    "ldr.w r11, [r2, #20]\n"                                                                      \
    "add lr, r0, r12, lsl #1\n"                                                                   \
    "add r12, r12, r0\n"                                                                          \
    "add r11, r11, #9\n"                                                                          \
    EC_INT8_ROW_OF_27("0", "0") EC_INT8_THIRD_OF_27("0", "0")                                     \
    EC_INT8_ROW_OF_27("48", "4") EC_INT8_THIRD_OF_27("48", "4")                                   \
    EC_INT8_ROW_OF_27("96", "2") EC_INT8_THIRD_OF_27("96", "2")

EC_NAKED void ec_int8_pack_2_dsp(const ec_int8_windows_job *job __attribute__((unused)))
{
    __asm__ volatile("push {r4-r11, lr}\n" EC_INT8_PACK_2 "pop {r4-r11, pc}\n");
}

EC_NAKED void ec_int8_pack_3_dsp(const ec_int8_windows_job *job __attribute__((unused)))
{
    __asm__ volatile("push {r4-r11, lr}\n" EC_INT8_PACK_3 "pop {r4-r11, pc}\n");
}

#endif
