/* Loop of ec_int8_dot.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_DOT_H
#define EC_INT8_DSP_DOT_H

/* See ec_int8_dot.  skip: bytes of the first pass through the loop that
   are left out. */
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
#define EC_INT8_DOT_K_BLOCK                                                                       \
    "ldr.w r11, [r0], #4\n"                                                                       \
    "ldmia.w r1!, {r6-r9}\n"                                                                      \
    "sxtb16 r12, r11, ror #8\n"                                                                   \
    "sxtb16 r11, r11\n"                                                                           \
    EC_INT8_DOT("r2", "r6") EC_INT8_DOT("r3", "r7") EC_INT8_DOT("r4", "r8") EC_INT8_DOT("r5", "r9")
/* Four results of sums in r2 to r5, by multipliers in r6 to r9, offset r10 and shift r11: to the output, on to the next
   channels at r0, which become r12, and back to 1 where there are any.  EC_INT8_DOT_STORE: of results. */
#define EC_INT8_DOT_RESULTS                                                                        \
    EC_INT8_REQUANTISE("r2", "r6", "r10", "r11", "r0, #0-16*" EC_INT8_BEYOND, "16")                \
    EC_INT8_REQUANTISE("r3", "r7", "r10", "r11", "r0, #4-16*" EC_INT8_BEYOND, "16")                \
    EC_INT8_REQUANTISE("r4", "r8", "r10", "r11", "r0, #8-16*" EC_INT8_BEYOND, "16")                \
    EC_INT8_REQUANTISE("r5", "r9", "r10", "r11", "r0, #12-16*" EC_INT8_BEYOND, "16")               \
    EC_INT8_DOT_STORE
#define EC_INT8_DOT_STORE                                                                          \
    "ldr r10, [sp, #12]\n"                                                                         \
    "ldr lr, [sp, #28]\n"                                                                          \
    "strb r3, [lr, #1]\n"                                                                          \
    "strb r4, [lr, #2]\n"                                                                          \
    "strb r5, [lr, #3]\n"                                                                          \
    "strb r2, [lr], #4\n"                                                                          \
    "str lr, [sp, #28]\n"                                                                          \
    "mov r12, r0\n"                                                                                \
    "cmp r0, r10\n"                                                                                \
    "bne 1b\n"
enum { EC_INT8_DOT_BYTES = 20 * 4, EC_INT8_DOT_K_BLOCKS = 4 };

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
        EC_INT8_DOT_K_BLOCK EC_INT8_DOT_K_BLOCK EC_INT8_DOT_K_BLOCK EC_INT8_DOT_K_BLOCK
        "cmp r0, lr\n"
        "bne 2b\n"
        "ldr r12, [sp, #8]\n"
        "ldrd r10, r11, [sp, #16]\n"
        "add r0, r12, #16\n"
        "ldm r0!, {r6-r9}\n"
        EC_INT8_SKIP("r0", "#16")
        "str r0, [sp, #8]\n"
        EC_INT8_DOT_RESULTS
        "add sp, sp, #36\n"
        "pop {r4-r11, pc}\n");
}

#endif
