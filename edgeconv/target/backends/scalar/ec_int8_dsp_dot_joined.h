/* Loop of ec_int8_dot_joined.h for cores with DSP.  Needs ec_int8_dsp.h and ec_int8_dsp_dot.h. */
#ifndef EC_INT8_DSP_DOT_JOINED_H
#define EC_INT8_DSP_DOT_JOINED_H

/* See ec_int8_dot_joined.  skip: bytes of the first pass through the loop that are left out, and `left_out` those of
   filters. */
typedef struct ec_int8_dot_joined_job {
    const int8_t *in, *in_end;
    const int32_t *channels, *channels_end;
    int32_t offset, beside; /* EC_INT8_BESIDE_OFFSET */
    ptrdiff_t skip;
    int8_t *out;
    ptrdiff_t left_out;
    const int8_t *filters;
} ec_int8_dot_joined_job;

/* r0 input, r1 filters; sums: r2 of the first filter, r3 of it and the second, r4 and r5 of the others; lr the input's end.
   r11, r12 four numbers of the input, r6 to r9 of filters, r10 those of one alone.  Loads are together, each but the first
   of which takes a cycle; all else is in the order for a Cortex-M7, which multiplies and takes bytes apart in one cycle. */
#define EC_INT8_DOT_JOINED_K_BLOCK(number)                                                        \
    "ldr.w r11, [r0, #4*" number "]\n"                                                            \
    "ldr.w r6, [r1, #16*" number "]\n"                                                            \
    "ldr.w r7, [r1, #16*" number "+4]\n"                                                          \
    "ldr.w r8, [r1, #16*" number "+8]\n"                                                          \
    "ldr.w r9, [r1, #16*" number "+12]\n"                                                         \
    "sxtb16 r12, r11, ror #8\n"                                                                   \
    "sxtb16 r11, r11\n"                                                                           \
    "smlad r3, r12, r7, r3\n"                                                                     \
    "sxtb16 r10, r6\n"                                                                            \
    "smlad r3, r11, r6, r3\n"                                                                     \
    "sxtb16 r7, r7\n"                                                                             \
    "smlad r2, r11, r10, r2\n"                                                                    \
    "sxtb16 r10, r8\n"                                                                            \
    "smlad r5, r11, r8, r5\n"                                                                     \
    "smlad r2, r12, r7, r2\n"                                                                     \
    "sxtb16 r7, r9\n"                                                                             \
    "smlad r5, r12, r9, r5\n"                                                                     \
    "smlad r4, r11, r10, r4\n"                                                                    \
    "smlad r4, r12, r7, r4\n"
enum { EC_INT8_DOT_JOINED_BYTES = 19 * 4, EC_INT8_DOT_JOINED_K_BLOCKS = 4 };

/* Sums in r2 to r5 become results, and what they start with, at r12: see EC_INT8_JOINED_2X4_RESULTS of
   ec_int8_dsp_joined_2x4.h. */
#ifdef EC_INT8_RIGHT
#define EC_INT8_DOT_JOINED_RESULTS                                                                \
    "ldr r12, [sp, #8]\n"                                                                         \
    "ldr r10, [sp, #16]\n"                                                                        \
    "ldr r11, [sp, #20]\n"                                                                        \
    "ldr r6, [r12, #16]\n"                                                                        \
    "ldr r7, [r12, #20]\n"                                                                        \
    "ldr.w r8, [r12, #24]\n"                                                                      \
    "ldr.w r9, [r12, #28]\n"                                                                      \
    "add r0, r12, #32\n"                                                                          \
    "sub r3, r3, r2\n"                                                                            \
    "sub r5, r5, r4\n"                                                                            \
    "str r0, [sp, #8]\n"                                                                          \
    "tst r11, #255\n"                                                                             \
    "bne 10f\n"                                                                                   \
    EC_INT8_SHIFTED("r2", "r6", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r3", "r7", "r11", "8+" EC_INT8_BITS)                                         \
    EC_INT8_SHIFTED("r4", "r8", "r10", EC_INT8_BITS)                                              \
    EC_INT8_SHIFTED("r5", "r9", "r11", "8+" EC_INT8_BITS)                                         \
    "11:\n"                                                                                       \
    EC_INT8_DOT_STORE
#define EC_INT8_DOT_JOINED_OWN_SHIFT                                                              \
    "10:\n"                                                                                       \
    "asr r3, r3, #8\n"                                                                            \
    "asr r5, r5, #8\n"                                                                            \
    EC_INT8_SHIFTED_BY("r2", "r6", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r3", "r7", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r4", "r8", "r10", "r11")                                                  \
    EC_INT8_SHIFTED_BY("r5", "r9", "r10", "r11")                                                  \
    "b 11b\n"
#define EC_INT8_DOT_JOINED_STARTS                                                                 \
    "ldr.w r3, [r12, #4]\n"                                                                       \
    "ldr.w r4, [r12, #8]\n"                                                                       \
    "ldr.w r5, [r12, #12]\n"
#else
#define EC_INT8_DOT_JOINED_RESULTS                                                                \
    "ldr r12, [sp, #8]\n"                                                                         \
    "ldr r10, [sp, #16]\n"                                                                        \
    "ldr r11, [sp, #20]\n"                                                                        \
    "add r0, r12, #16\n"                                                                          \
    "sub r3, r3, r2\n"                                                                            \
    "sub r5, r5, r4\n"                                                                            \
    "ldr lr, [r12, #4]\n"                                                                         \
    "ldr r12, [r12, #12]\n"                                                                       \
    "ldm r0!, {r6-r9}\n"                                                                          \
    "add r3, lr, r3, asr #8\n"                                                                    \
    "add r5, r12, r5, asr #8\n"                                                                   \
    EC_INT8_SKIP("r0", "#16")                                                                     \
    "str r0, [sp, #8]\n"                                                                          \
    EC_INT8_DOT_RESULTS
#define EC_INT8_DOT_JOINED_OWN_SHIFT ""
#define EC_INT8_DOT_JOINED_STARTS                                                                 \
    "ldr r4, [r12, #8]\n"                                                                         \
    "mov r3, r2\n"                                                                                \
    "mov r5, r4\n"
#endif

EC_NAKED void ec_int8_dot_joined_dsp(const ec_int8_dot_joined_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldrd r3, r1, [r0, #32]\n" /* left_out, filters */
        "ldm r0, {r4-r11}\n"
        "adr r2, 2f\n"
        "add r10, r10, r2\n"
        "push {r3}\n"
        "push {r4-r11}\n" /* 0 in, 4 its end, 8 channels, 12 their end, 16 offset, 20 beside, 24 entry,
                             28 out, 32 left_out */
        "mov r12, r6\n"
        "1:\n" /* four filters */
        "ldr r0, [sp]\n"
        "ldr lr, [sp, #4]\n"
        "ldr r10, [sp, #32]\n"
        "ldr r11, [sp, #24]\n"
        "ldr r2, [r12]\n"
        EC_INT8_DOT_JOINED_STARTS
        "sub r1, r1, r10\n"
        "sub r0, r0, r10, lsr #2\n"
        "mov pc, r11\n"
        ".balign 4\n"
        "2:\n"
        EC_INT8_DOT_JOINED_K_BLOCK("0") EC_INT8_DOT_JOINED_K_BLOCK("1")
        EC_INT8_DOT_JOINED_K_BLOCK("2") EC_INT8_DOT_JOINED_K_BLOCK("3")
        "add r0, r0, #16\n"
        "add r1, r1, #64\n"
        "cmp r0, lr\n"
        "bne 2b\n"
        EC_INT8_DOT_JOINED_RESULTS
        "add sp, sp, #36\n"
        "pop {r4-r11, pc}\n"
        EC_INT8_DOT_JOINED_OWN_SHIFT);
}

#endif
