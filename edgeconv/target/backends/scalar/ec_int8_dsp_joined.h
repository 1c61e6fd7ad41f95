/* Loop of ec_int8_joined.h for cores with DSP.  Needs ec_int8_tile.h. */
#ifndef EC_INT8_DSP_JOINED_H
#define EC_INT8_DSP_JOINED_H

#include "ec_int8_dsp_panels.h"

/* r0 panel, r1 filters.  Sums of three pixels: r2 to r4 of the first filter, r5 to r7 of both, of the second 256 times.
   Of half a k-block, two numbers of a window, SXTB16 leaves those of the first filter. */
#ifdef EC_DUAL_ISSUE
/* Every SMLAD has an instruction beside it, loads of the next half: the last of all read a k-block beyond the
   panel and a word beyond the filters, which nobody uses.  `at`, `filter`: where these begin. */
#define EC_INT8_JOINED_HALF(word, next, at, filter)                                               \
    "smlad r5, r11, " word ", r5\n"                                                               \
    "sxtb16 r10, " word "\n"                                                                      \
    "smlad r6, r12, " word ", r6\n"                                                               \
    "ldr.w " next ", [r1, #" filter "]\n"                                                         \
    "smlad r2, r11, r10, r2\n"                                                                    \
    "ldr.w r11, [r0, #" at "]\n"                                                                  \
    "smlad r3, r12, r10, r3\n"                                                                    \
    "ldr.w r12, [r0, #" at "+8]\n"                                                                \
    "smlad r7, lr, " word ", r7\n"                                                                \
    "smlad r4, lr, r10, r4\n"                                                                     \
    "ldr.w lr, [r0, #" at "+16]\n"
#define EC_INT8_JOINED_K_BLOCK(number)                                                            \
    EC_INT8_JOINED_HALF("r8", "r9", "24*" number "+4", "8*" number "+4")                          \
    EC_INT8_JOINED_HALF("r9", "r8", "24*" number "+24", "8*" number "+8")
#define EC_INT8_JOINED_ENTER                                                                      \
    "ldrd r10, r9, [sp, #32]\n"                                                                   \
    "ldr r8, [r1]\n"                                                                              \
    "ldr.w r11, [r0]\n"                                                                           \
    "ldr.w r12, [r0, #8]\n"                                                                       \
    "ldr.w lr, [r0, #16]\n"                                                                       \
    "sub r1, r1, r9\n"                                                                            \
    "sub r0, r0, r9\n"                                                                            \
    "sub r0, r0, r9, lsl #1\n"                                                                    \
    "mov pc, r10\n"
#define EC_INT8_JOINED_NEXT                                                                       \
    "add r0, r0, #96\n"                                                                           \
    "ldr r9, [sp, #4]\n"                                                                          \
    "add r1, r1, #32\n"                                                                           \
    "cmp r0, r9\n"
#else
/* Loads are together, each but the first of which takes a cycle. */
#define EC_INT8_JOINED_HALF(beyond)                                                               \
    "ldr r8, [r1], #4\n"                                                                          \
    "ldr.w r10, [r0, #8]\n"                                                                       \
    "ldr.w r11, [r0, #16]\n"                                                                      \
    "ldr r9, [r0], #" beyond "\n"                                                                 \
    "smlad r6, r10, r8, r6\n"                                                                     \
    "smlad r7, r11, r8, r7\n"                                                                     \
    "smlad r5, r9, r8, r5\n"                                                                      \
    "sxtb16 r8, r8\n"                                                                             \
    "smlad r2, r9, r8, r2\n"                                                                      \
    "smlad r3, r10, r8, r3\n"                                                                     \
    "smlad r4, r11, r8, r4\n"
#define EC_INT8_JOINED_K_BLOCK(number) EC_INT8_JOINED_HALF("4") EC_INT8_JOINED_HALF("20")
#define EC_INT8_JOINED_ENTER                                                                      \
    "ldr lr, [sp, #4]\n"                                                                          \
    "ldr r12, [sp, #32]\n"                                                                        \
    "mov pc, r12\n"
#define EC_INT8_JOINED_NEXT "cmp r0, lr\n"
#endif
enum { EC_INT8_JOINED_K_BLOCK_BYTES = 22 * 4, EC_INT8_JOINED_K_BLOCKS = 4 };

/* Sums in r2 to r7 become results, and what they start with: see EC_INT8_JOINED_2X4_RESULTS. */
#ifdef EC_INT8_RIGHT
#define EC_INT8_JOINED_RESULTS                                                                    \
    "ldr lr, [sp, #8]\n"                                                                          \
    "ldr r10, [sp, #24]\n"                                                                        \
    "ldr r11, [sp, #28]\n"                                                                        \
    "ldr r8, [lr, #8]\n"                                                                          \
    "ldr r9, [lr, #12]\n"                                                                         \
    "sub r5, r5, r2\n"                                                                            \
    "sub r6, r6, r3\n"                                                                            \
    "sub r7, r7, r4\n"                                                                            \
    "add lr, lr, #16\n"                                                                           \
    "str lr, [sp, #8]\n"                                                                          \
    "tst r11, #255\n"                                                                             \
    "bne 10f\n"                                                                                   \
    EC_INT8_THREE_SHIFTED("r2", "r3", "r4", "r8", "r10", EC_INT8_BITS)                            \
    EC_INT8_THREE_SHIFTED("r5", "r6", "r7", "r9", "r11", "8+" EC_INT8_BITS)                       \
    "11:\n"
#define EC_INT8_JOINED_OWN_SHIFT                                                                  \
    "10:\n"                                                                                       \
    "asr r5, r5, #8\n"                                                                            \
    "asr r6, r6, #8\n"                                                                            \
    "asr r7, r7, #8\n"                                                                            \
    EC_INT8_SHIFTED_BY("r2", "r8", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r3", "r8", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r4", "r8", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r5", "r9", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r6", "r9", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r7", "r9", "r10", "r11")                                                  \
    "b 11b\n"
#define EC_INT8_JOINED_STARTS                                                                     \
    "ldr r5, [lr, #4]\n"                                                                          \
    "mov r3, r2\n"                                                                                \
    "mov r4, r2\n"                                                                                \
    "mov r6, r5\n"                                                                                \
    "mov r7, r5\n"
#else
#define EC_INT8_JOINED_RESULTS                                                                    \
    "ldr lr, [sp, #8]\n"                                                                          \
    "ldr r10, [sp, #24]\n"                                                                        \
    "ldr r11, [sp, #28]\n"                                                                        \
    "ldr r0, [lr, #4]\n" /* start of the second, and both multipliers */                          \
    "ldr r8, [lr, #8]\n"                                                                          \
    "ldr r9, [lr, #12]\n"                                                                         \
    "sub r5, r5, r2\n"                                                                            \
    "sub r6, r6, r3\n"                                                                            \
    "sub r7, r7, r4\n"                                                                            \
    "add lr, lr, #16\n"                                                                           \
    EC_INT8_SKIP("lr", "#8")                                                                      \
    "add r5, r0, r5, asr #8\n"                                                                    \
    "add r6, r0, r6, asr #8\n"                                                                    \
    "add r7, r0, r7, asr #8\n"                                                                    \
    "str lr, [sp, #8]\n"                                                                          \
    EC_INT8_BESIDES("r10", "r12", "lr, #-8*" EC_INT8_BEYOND, "8")                                 \
    EC_INT8_THREE_OF_ONE("r2", "r3", "r4", "r8", "0")                                             \
    EC_INT8_BESIDES("r10", "r12", "lr, #4-8*" EC_INT8_BEYOND, "8")                                \
    EC_INT8_THREE_OF_ONE("r5", "r6", "r7", "r9", "4")
#define EC_INT8_JOINED_OWN_SHIFT ""
#define EC_INT8_JOINED_STARTS                                                                     \
    "mov r3, r2\n"                                                                                \
    "mov r4, r2\n"                                                                                \
    "mov r5, r2\n"                                                                                \
    "mov r6, r2\n"                                                                                \
    "mov r7, r2\n"
#endif

/* See ec_int8_joined. */
EC_NAKED void ec_int8_joined_dsp(const ec_int8_panels_job *job __attribute__((unused)))
{
    __asm__ volatile(
        EC_INT8_PANELS_ENTER
        "4:\n" /* a panel */
        EC_INT8_PANELS_PACK(EC_INT8_PACK_3, EC_INT8_PACK_3_OF_27)
        "1:\n" /* two filters */
        "ldr r0, [sp]\n"
        "ldr r2, [lr]\n"
        EC_INT8_JOINED_STARTS
        EC_INT8_JOINED_ENTER
        ".balign 4\n"
        "2:\n"
        EC_INT8_JOINED_K_BLOCK("0") EC_INT8_JOINED_K_BLOCK("1") EC_INT8_JOINED_K_BLOCK("2") EC_INT8_JOINED_K_BLOCK("3")
        EC_INT8_JOINED_NEXT
        "bne 2b\n"
        EC_INT8_JOINED_RESULTS
        "ldr r12, [sp, #16]\n"
        "ldr r0, [sp, #20]\n"
        "ldr r8, [sp, #12]\n"
        "strb r3, [r12, r0]\n"
        "strb r4, [r12, r0, lsl #1]\n"
        "strb r2, [r12], #1\n"
        "strb r6, [r12, r0]\n"
        "strb r7, [r12, r0, lsl #1]\n"
        "strb r5, [r12], #1\n"
        "str r12, [sp, #16]\n"
        "cmp lr, r8\n"
        "bne 1b\n"
        EC_INT8_PANELS_LEAVE("add r1, r1, r3\n" "add r1, r1, r3, lsl #1\n")
        EC_INT8_JOINED_OWN_SHIFT);
}

#endif
