/* Loop of ec_int8_joined_2x4.h for cores with DSP.  Needs ec_int8_tile.h. */
#ifndef EC_INT8_DSP_JOINED_2X4_H
#define EC_INT8_DSP_JOINED_2X4_H

#include "ec_int8_dsp_panels.h"

/* r0 panel, r1 filters.  Sums of two pixels, r2 to r5 and r6 to r9: of the first filter of a pair, then of both, of the
   second 256 times; likewise of the other pair.  Of half a k-block, two numbers of a window, r10 and r11 have both pairs, of
   which SXTB16 leaves those of the first filters, r12 and lr the pixels.  Loads are together, each but the first of which
   takes a cycle. */
#define EC_INT8_JOINED_2X4_HALF(beyond, filters_beyond)                                           \
    "ldr r11, [r1, #8]\n"                                                                         \
    "ldr r10, [r1], #" filters_beyond "\n"                                                        \
    "ldr.w lr, [r0, #8]\n"                                                                        \
    "ldr r12, [r0], #" beyond "\n"                                                                \
    "smlad r7, lr, r10, r7\n"                                                                     \
    "smlad r9, lr, r11, r9\n"                                                                     \
    "smlad r3, r12, r10, r3\n"                                                                    \
    "smlad r5, r12, r11, r5\n"                                                                    \
    "sxtb16 r10, r10\n"                                                                           \
    "sxtb16 r11, r11\n"                                                                           \
    "smlad r2, r12, r10, r2\n"                                                                    \
    "smlad r4, r12, r11, r4\n"                                                                    \
    "smlad r6, lr, r10, r6\n"                                                                     \
    "smlad r8, lr, r11, r8\n"
#define EC_INT8_JOINED_2X4_K_BLOCK                                                                \
    EC_INT8_JOINED_2X4_HALF("4", "4")                                                             \
    EC_INT8_JOINED_2X4_HALF("20", "12")
enum { EC_INT8_JOINED_2X4_BYTES = 28 * 4, EC_INT8_JOINED_2X4_K_BLOCKS = 16 };

/* Sums in r2 to r9 become results.  EC_INT8_RIGHT: those of second filters, 256 times as large, are not made smaller, and the
   second word of a pair of channels is what the first sum starts with, and 256 times what the second one does; a layer that
   has a shift of its own goes another way. */
#ifdef EC_INT8_RIGHT
#define EC_INT8_JOINED_2X4_RESULTS                                                                \
    "ldr lr, [sp, #8]\n"                                                                          \
    "ldr r10, [sp, #24]\n"                                                                        \
    "ldr r11, [sp, #28]\n"                                                                        \
    "ldr r0, [lr, #16]\n"                                                                         \
    "ldr r12, [lr, #20]\n"                                                                        \
    "sub r3, r3, r2\n"                                                                            \
    "sub r7, r7, r6\n"                                                                            \
    "sub r5, r5, r4\n"                                                                            \
    "sub r9, r9, r8\n"                                                                            \
    "tst r11, #255\n"                                                                             \
    "bne 10f\n"                                                                                   \
    EC_INT8_SHIFTED("r2", "r0", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r6", "r0", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r3", "r12", "r11", "8+" EC_INT8_BITS)                                        \
    EC_INT8_SHIFTED("r7", "r12", "r11", "8+" EC_INT8_BITS)                                        \
    "ldr r0, [lr, #24]\n"                                                                         \
    "ldr r12, [lr, #28]\n"                                                                        \
    EC_INT8_SHIFTED("r4", "r0", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r8", "r0", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r5", "r12", "r11", "8+" EC_INT8_BITS)                                        \
    EC_INT8_SHIFTED("r9", "r12", "r11", "8+" EC_INT8_BITS)                                        \
    "11:\n"
#define EC_INT8_JOINED_2X4_OWN_SHIFT                                                              \
    "10:\n"                                                                                       \
    "asr r3, r3, #8\n"                                                                            \
    "asr r7, r7, #8\n"                                                                            \
    "asr r5, r5, #8\n"                                                                            \
    "asr r9, r9, #8\n"                                                                            \
    EC_INT8_SHIFTED_BY("r2", "r0", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r6", "r0", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r3", "r12", "r10", "r11")                                                 \
    EC_INT8_SHIFTED_BY("r7", "r12", "r10", "r11")                                                 \
    "ldr r0, [lr, #24]\n"                                                                         \
    "ldr r12, [lr, #28]\n"                                                                        \
    EC_INT8_SHIFTED_BY("r4", "r0", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r8", "r0", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r5", "r12", "r10", "r11")                                                 \
    EC_INT8_SHIFTED_BY("r9", "r12", "r10", "r11")                                                 \
    "b 11b\n"
#define EC_INT8_JOINED_2X4_STARTS                                                                 \
    "ldr.w r3, [lr, #4]\n"                                                                        \
    "ldr.w r4, [lr, #8]\n"                                                                        \
    "ldr.w r5, [lr, #12]\n"                                                                       \
    "mov r6, r2\n"                                                                                \
    "mov r7, r3\n"                                                                                \
    "mov r8, r4\n"                                                                                \
    "mov r9, r5\n"
#else
/* Both sums of filter `at` / 4, with its multiplier; r10 offset, r11 right. */
#ifdef EC_INT8_IN_STAGES
#define EC_INT8_JOINED_2X4_OF_FILTER(first, second, multiplier, at)                               \
    EC_INT8_BESIDES("r10", "", "lr, #32+" at, "16")                                               \
    EC_INT8_REQUANTISE_NEXT(first, multiplier, "r10", "r11", "", "", "", "16")                    \
    EC_INT8_REQUANTISE_NEXT(second, multiplier, "r10", "r11", "", "", "", "16")
#define EC_INT8_JOINED_2X4_EIGHT                                                                  \
    "ldr r0, [lr, #16]\n"                                                                         \
    "ldr r12, [lr, #20]\n"                                                                        \
    EC_INT8_JOINED_2X4_OF_FILTER("r2", "r6", "r0", "0")                                           \
    EC_INT8_JOINED_2X4_OF_FILTER("r3", "r7", "r12", "4")                                          \
    "ldr r0, [lr, #24]\n"                                                                         \
    "ldr r12, [lr, #28]\n"                                                                        \
    EC_INT8_JOINED_2X4_OF_FILTER("r4", "r8", "r0", "8")                                           \
    EC_INT8_JOINED_2X4_OF_FILTER("r5", "r9", "r12", "12")
#else
/* r12 and r1 are what a scaling needs besides: filters wait in memory. */
#define EC_INT8_JOINED_2X4_OF_FILTER(first, second, at)                                           \
    "ldr r0, [lr, #16+" at "]\n"                                                                  \
    EC_INT8_BESIDES("r10", "r12", "lr, #32+" at, "16")                                            \
    EC_INT8_REQUANTISE_NEXT(first, "r0", "r10", "r11", "r12", "r1", "lr, #32+" at, "16")          \
    EC_INT8_REQUANTISE_NEXT(second, "r0", "r10", "r11", "r12", "r1", "lr, #32+" at, "16")
#define EC_INT8_JOINED_2X4_EIGHT                                                                  \
    "str r1, [sp, #36]\n"                                                                         \
    EC_INT8_JOINED_2X4_OF_FILTER("r2", "r6", "0")                                                 \
    EC_INT8_JOINED_2X4_OF_FILTER("r3", "r7", "4")                                                 \
    EC_INT8_JOINED_2X4_OF_FILTER("r4", "r8", "8")                                                 \
    EC_INT8_JOINED_2X4_OF_FILTER("r5", "r9", "12")                                                \
    "ldr r1, [sp, #36]\n"
#endif
#define EC_INT8_JOINED_2X4_RESULTS                                                                \
    "ldr lr, [sp, #8]\n"                                                                          \
    "ldr r10, [sp, #24]\n"                                                                        \
    "ldr r11, [sp, #28]\n"                                                                        \
    "ldr r0, [lr, #4]\n"                                                                          \
    "ldr r12, [lr, #12]\n"                                                                        \
    "sub r3, r3, r2\n"                                                                            \
    "sub r7, r7, r6\n"                                                                            \
    "sub r5, r5, r4\n"                                                                            \
    "sub r9, r9, r8\n"                                                                            \
    "add r3, r0, r3, asr #8\n"                                                                    \
    "add r7, r0, r7, asr #8\n"                                                                    \
    "add r5, r12, r5, asr #8\n"                                                                   \
    "add r9, r12, r9, asr #8\n"                                                                   \
    EC_INT8_JOINED_2X4_EIGHT
#define EC_INT8_JOINED_2X4_OWN_SHIFT ""
#define EC_INT8_JOINED_2X4_STARTS                                                                 \
    "ldr r4, [lr, #8]\n"                                                                          \
    "mov r3, r2\n"                                                                                \
    "mov r6, r2\n"                                                                                \
    "mov r7, r2\n"                                                                                \
    "mov r5, r4\n"                                                                                \
    "mov r8, r4\n"                                                                                \
    "mov r9, r4\n"
#endif

/* Four numbers of both pixels, r3 bytes apart, from r0 on to the panel at r2. */
#define EC_INT8_JOINED_2X4_WIDEN                                                                  \
    "ldr r6, [r0, r3]\n"                                                                          \
    "ldr r4, [r0], #4\n"                                                                          \
    "sxtb16 r7, r6, ror #8\n"                                                                     \
    "sxtb16 r6, r6\n"                                                                             \
    "sxtb16 r5, r4, ror #8\n"                                                                     \
    "sxtb16 r4, r4\n"                                                                             \
    "str r6, [r2, #8]\n"                                                                          \
    "str r7, [r2, #12]\n"                                                                         \
    "str r5, [r2, #4]\n"                                                                          \
    "str r4, [r2], #24\n"

/* See ec_int8_joined_2x4. */
EC_NAKED void ec_int8_joined_2x4_dsp(const ec_int8_panels_job *job __attribute__((unused)))
{
    __asm__ volatile(
        EC_INT8_PANELS_ENTER
        "4:\n" /* a panel */
        "ldr r0, [sp, #68]\n"
        "cbz r0, 5f\n"
        "ldr r3, [sp, #72]\n"
        "ldr r2, [sp]\n"
        "ldr r8, [sp, #4]\n"
        "add r9, r0, r3, lsl #1\n"
        "str r9, [sp, #68]\n"
        "sub r4, r8, r2\n"
        "tst r4, #8\n" /* 24 bytes a k-block: of an odd number of these */
        "bne 13f\n"
        "3:\n"
        EC_INT8_JOINED_2X4_WIDEN
        "13:\n"
        EC_INT8_JOINED_2X4_WIDEN
        "cmp r2, r8\n"
        "bne 3b\n"
        "b 6f\n"
        "5:\n"
        EC_INT8_PANELS_PACK(EC_INT8_PACK_2, EC_INT8_PACK_2_OF_27)
        "b 1f\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK
        EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK
        EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK
        EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK EC_INT8_JOINED_2X4_K_BLOCK
        "ldr r10, [sp, #4]\n"
        "cmp r0, r10\n"
        "bne 2b\n"
        EC_INT8_JOINED_2X4_RESULTS
        "add lr, lr, #32\n"
        EC_INT8_SKIP("lr", "#16")
        "str lr, [sp, #8]\n"
        "ldr r12, [sp, #16]\n"
        "ldr r0, [sp, #20]\n"
        "ldr r10, [sp, #12]\n"
        "cmp lr, r10\n"
        "bhi 8f\n"
        "strb r6, [r12, r0]\n"
        "strb r2, [r12], #1\n"
        "strb r7, [r12, r0]\n"
        "strb r3, [r12], #1\n"
        "strb r8, [r12, r0]\n"
        "strb r4, [r12], #1\n"
        "strb r9, [r12, r0]\n"
        "strb r5, [r12], #1\n"
        "str r12, [sp, #16]\n"
        "beq 7f\n"
        "1:\n" /* four filters */
        "ldr r12, [sp, #32]\n"
        "ldr r0, [sp]\n"
        "ldr r2, [lr]\n"
        EC_INT8_JOINED_2X4_STARTS
        "mov pc, r12\n"
        "7:\n" /* the last filters, if they are fewer than four */
        "ldr r2, [sp, #48]\n"
        "cmp r2, #0\n"
        "bne 1b\n"
        "b 9f\n"
        "8:\n"
        "ldr r10, [sp, #48]\n"
        "add r0, r0, r12\n"
        "strb r2, [r12]\n"
        "strb r6, [r0]\n"
        "cmp r10, #2\n"
        "blo 9f\n"
        "strb r3, [r12, #1]\n"
        "strb r7, [r0, #1]\n"
        "beq 9f\n"
        "strb r4, [r12, #2]\n"
        "strb r8, [r0, #2]\n"
        "9:\n"
        EC_INT8_PANELS_LEAVE("add r1, r1, r3, lsl #1\n")
        EC_INT8_JOINED_2X4_OWN_SHIFT);
}

#ifdef EC_INT8_RIGHT
/* One pixel by four filters, where one is left over: r0 panel, r1 filters, r2 to r5 sums as of two pixels; r6 offset, r7 beside,
   r8 panel, r9 its end, lr channels. */
#define EC_INT8_JOINED_1X4_HALF(beyond, filters_beyond)                                           \
    "ldr r11, [r1, #8]\n"                                                                         \
    "ldr r10, [r1], #" filters_beyond "\n"                                                        \
    "ldr r12, [r0], #" beyond "\n"                                                                \
    "smlad r3, r12, r10, r3\n"                                                                    \
    "smlad r5, r12, r11, r5\n"                                                                    \
    "sxtb16 r10, r10\n"                                                                           \
    "sxtb16 r11, r11\n"                                                                           \
    "smlad r2, r12, r10, r2\n"                                                                    \
    "smlad r4, r12, r11, r4\n"
#define EC_INT8_JOINED_1X4_K_BLOCK                                                                \
    EC_INT8_JOINED_1X4_HALF("4", "4")                                                             \
    EC_INT8_JOINED_1X4_HALF("20", "12")
enum { EC_INT8_JOINED_1X4_BYTES = 18 * 4, EC_INT8_JOINED_1X4_K_BLOCKS = 4 };

/* Of the job's panel the first pixel, under all its filters. */
EC_NAKED void ec_int8_joined_1x4_dsp(const ec_int8_panels_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldrd r8, r9, [r0]\n"
        "ldrd r6, r7, [r0, #24]\n"
        "ldr lr, [r0, #8]\n"
        "ldr r1, [r0, #40]\n"
        "ldrd r2, r3, [r0, #12]\n"
        "ldr r4, [r0, #32]\n"
        "adr r5, 2f\n"
        "add r4, r4, r5\n"
        "push {r2-r5}\n" /* 0 end of the channels, 4 out, 8 entry */
        "1:\n"            /* four filters */
        "ldr r12, [sp, #8]\n"
        "ldr r2, [lr]\n"
        "ldr r3, [lr, #4]\n"
        "ldr r4, [lr, #8]\n"
        "ldr r5, [lr, #12]\n"
        "mov r0, r8\n"
        "mov pc, r12\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_JOINED_1X4_K_BLOCK EC_INT8_JOINED_1X4_K_BLOCK EC_INT8_JOINED_1X4_K_BLOCK EC_INT8_JOINED_1X4_K_BLOCK
        "cmp r0, r9\n"
        "bne 2b\n"
        "ldr r10, [lr, #16]\n"
        "ldr r11, [lr, #20]\n"
        "ldr r12, [lr, #24]\n"
        "ldr r0, [lr, #28]\n"
        "sub r3, r3, r2\n"
        "sub r5, r5, r4\n"
        "tst r7, #255\n"
        "bne 10f\n"
        EC_INT8_SHIFTED("r2", "r10", "r6", EC_INT8_BITS)
        EC_INT8_SHIFTED("r4", "r12", "r6", EC_INT8_BITS)
        EC_INT8_SHIFTED("r3", "r11", "r7", "8+" EC_INT8_BITS)
        EC_INT8_SHIFTED("r5", "r0", "r7", "8+" EC_INT8_BITS)
        "11:\n"
        "ldr r12, [sp, #4]\n"
        "ldr r10, [sp]\n"
        "add lr, lr, #32\n"
        "cmp lr, r10\n"
        "strb r2, [r12], #1\n"
        "strb r3, [r12], #1\n"
        "strb r4, [r12], #1\n"
        "strb r5, [r12], #1\n"
        "str r12, [sp, #4]\n"
        "bne 1b\n"
        "add sp, sp, #16\n"
        "pop {r4-r11, pc}\n"
        "10:\n"
        "asr r3, r3, #8\n"
        "asr r5, r5, #8\n"
        EC_INT8_SHIFTED_BY("r2", "r10", "r6", "r7")
        EC_INT8_SHIFTED_BY("r3", "r11", "r6", "r7")
        EC_INT8_SHIFTED_BY("r4", "r12", "r6", "r7")
        EC_INT8_SHIFTED_BY("r5", "r0", "r6", "r7")
        "b 11b\n");
}
#endif

#endif
