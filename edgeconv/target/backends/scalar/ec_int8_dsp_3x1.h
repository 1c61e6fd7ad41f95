/* Loops of ec_int8_depthwise_3x1.h for cores with DSP.  Needs ec_int8_dsp.h. */
#ifndef EC_INT8_DSP_3X1_H
#define EC_INT8_DSP_3X1_H

/* Four channels of lines of windows, each of which begins with the second number of that before.  `stride`: bytes from one
   to the next, of the input and of the output; `apart`: from a line to the next, of both. */
typedef struct ec_int8_3x1_job {
    int32_t starts[2]; /* of the channels at work, from the words */
    int8_t *end;       /* last result of the first line */
    uint32_t padding;  /* twice, as int16 */
    int32_t lead;      /* numbers of a line in front of the input: 0 to 2 */
    int32_t tail;      /* whether its last one lies behind the input */
    int32_t phase;     /* windows of a line, modulo 3 */
    ptrdiff_t skip;    /* from the end of a line to the next one */
    ptrdiff_t apart;
    int8_t *last;      /* last result of the last line */
    const int32_t *words;
    int8_t *out;
    ptrdiff_t stride;
    ptrdiff_t ahead; /* from a result to the last number of its window */
    int32_t offset;
} ec_int8_3x1_job;

/* r0 out, r1 stride, r2 ahead, r3 to r5 three numbers of both channels, r6 to r8 filters, r9, r10 multipliers, r11 offset,
   r12, lr sums.  `rotate`: which bytes of a word are taken.  `load`, `widen`: of the third number, between the products of a
   core that begins two instructions in a cycle. */
#define EC_INT8_3X1_RESULTS(first, second, third, load, widen)                                    \
    "ldrd r12, lr, [sp]\n"                                                                        \
    load                                                                                          \
    "smlabb r12, " first ", r6, r12\n"                                                            \
    "smlatt lr, " first ", r6, lr\n"                                                              \
    widen                                                                                         \
    "smlabb r12, " second ", r7, r12\n"                                                           \
    "smlatt lr, " second ", r7, lr\n"                                                             \
    "smlabb r12, " third ", r8, r12\n"                                                            \
    "smlatt lr, " third ", r8, lr\n"                                                              \
    EC_INT8_REQUANTISE("r12", "r9", "r11", "", "", "")                                            \
    EC_INT8_REQUANTISE("lr", "r10", "r11", "", "", "")                                            \
    "strb r12, [r0]\n"                                                                            \
    "strb lr, [r0, #2]\n"                                                                         \
    "add r0, r0, r1\n"
#define EC_INT8_3X1_LOAD(number) "ldr " number ", [r0, r2]\n"
#define EC_INT8_3X1_WIDEN(number, rotate) "sxtb16 " number ", " number rotate "\n"
#define EC_INT8_3X1_WINDOW(first, second, third, rotate)                                          \
    EC_INT8_3X1_RESULTS(first, second, third, EC_INT8_3X1_LOAD(third), EC_INT8_3X1_WIDEN(third, rotate))
#define EC_INT8_3X1_LINES(rotate)                                                                 \
    "push {r4-r11, lr}\n"                                                                         \
    "ldm r0!, {r1-r10}\n"                                                                         \
    "push {r1-r10}\n" /* 0 starts, 8 end, 12 padding, 16 lead, 20 tail, 24 phase, 28 skip, 32 apart, 36 last */\
    "ldr r12, [r0]\n"                                                                             \
    "ldrd r1, r2, [r0, #8]\n"                                                                     \
    "ldr r11, [r0, #16]\n"                                                                        \
    "ldr r0, [r0, #4]\n"                                                                          \
    "ldm r12!, {r3-r5, r8}\n" /* both starts, the first two filters of either channel */          \
    "strd r3, r4, [sp]\n"                                                                         \
    "pkhbt r6, r5, r8, lsl #16\n"                                                                 \
    "pkhtb r7, r8, r5, asr #16\n"                                                                 \
    "ldrd r8, r9, [r12, #8]\n"                                                                    \
    "pkhbt r8, r8, r9, lsl #16\n"                                                                 \
    "ldrd r9, r10, [r12, #24]\n"                                                                  \
    "1:\n" /* a line */                                                                           \
    "ldrd r3, r12, [sp, #12]\n"                                                                   \
    "mov r4, r3\n"                                                                                \
    "cmp r12, #1\n"                                                                               \
    "bhi 2f\n"                                                                                    \
    "sub lr, r0, r1\n"                                                                            \
    "ldr r4, [lr, r2]\n"                                                                          \
    "sxtb16 r4, r4" rotate "\n"                                                                   \
    "beq 2f\n"                                                                                    \
    "sub lr, lr, r1\n"                                                                            \
    "ldr r3, [lr, r2]\n"                                                                          \
    "sxtb16 r3, r3" rotate "\n"                                                                   \
    "2:\n"                                                                                        \
    "ldr r12, [sp, #24]\n"                                                                        \
    "cmp r12, #1\n"                                                                               \
    "bhi 3f\n"                                                                                    \
    "bne 4f\n"                                                                                    \
    "mov r5, r3\n"                                                                                \
    "mov r3, r4\n"                                                                                \
    "b 5f\n"                                                                                      \
    "3:\n"                                                                                        \
    "mov r5, r4\n"                                                                                \
    "mov r4, r3\n"                                                                                \
    "b 6f\n"                                                                                      \
    "4:\n"                                                                                        \
    EC_INT8_3X1_WINDOW("r3", "r4", "r5", rotate)                                                  \
    "6:\n"                                                                                        \
    EC_INT8_3X1_WINDOW("r4", "r5", "r3", rotate)                                                  \
    "5:\n"                                                                                        \
    "ldr r12, [sp, #8]\n"                                                                         \
    "cmp r0, r12\n"                                                                               \
    "beq 7f\n"                                                                                    \
    EC_INT8_3X1_WINDOW("r5", "r3", "r4", rotate)                                                  \
    "b 4b\n"                                                                                      \
    "7:\n" /* its last window */                                                                  \
    "ldr r4, [sp, #12]\n"                                                                         \
    "ldr r12, [sp, #20]\n"                                                                        \
    "cmp r12, #0\n"                                                                               \
    "bne 8f\n"                                                                                    \
    EC_INT8_3X1_LOAD("r4") EC_INT8_3X1_WIDEN("r4", rotate)                                        \
    "8:\n"                                                                                        \
    EC_INT8_3X1_RESULTS("r5", "r3", "r4", "", "")                                                 \
    "ldr r3, [sp, #8]\n"                                                                          \
    "ldr r4, [sp, #36]\n"                                                                         \
    "cmp r3, r4\n"                                                                                \
    "beq 9f\n"                                                                                    \
    "ldrd r4, r5, [sp, #28]\n"                                                                    \
    "add r0, r0, r4\n"                                                                            \
    "add r3, r3, r5\n"                                                                            \
    "str r3, [sp, #8]\n"                                                                          \
    "b 1b\n"                                                                                      \
    "9:\n"                                                                                        \
    "add sp, sp, #40\n"                                                                           \
    "pop {r4-r11, pc}\n"

/* Channels 0 and 2. */
EC_NAKED void ec_int8_3x1_even_dsp(const ec_int8_3x1_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_3X1_LINES(""));
}

/* Channels 1 and 3; the job's words are theirs, and its results lie from the first of them on. */
EC_NAKED void ec_int8_3x1_odd_dsp(const ec_int8_3x1_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_3X1_LINES(", ror #8"));
}

#endif
