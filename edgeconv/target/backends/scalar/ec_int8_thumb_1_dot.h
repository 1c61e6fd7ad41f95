/* Loop of ec_int8_dot_joined.h for Armv6-M and Armv8-M Baseline, whose instructions are those of Thumb-1.
   Needs ec_naked.h. */
#ifndef EC_INT8_THUMB_1_DOT_H
#define EC_INT8_THUMB_1_DOT_H

/* r0 input, r1 filters.  Sums: r8 of the first filter of a pair, r9 of both, of the second 256 times; r10 and r11 those of
   the other pair.  A number of the input in r2, of both filters of a pair in r3: of the first one SXTB leaves that in r4. */
#define EC_INT8_THUMB_1_PAIR(first, both)                                                         \
    "sxtb r4, r3\n"                                                                               \
    "muls r3, r2, r3\n"                                                                           \
    "muls r4, r2, r4\n"                                                                           \
    "add " both ", r3\n"                                                                          \
    "add " first ", r4\n"
/* Half a k-block, two numbers of the input: r5 and r6 those of the filters of either pair. */
#define EC_INT8_THUMB_1_DOT_HALF(at, next, filter)                                                \
    "ldr r5, [r1, #" filter "]\n"                                                                 \
    "ldr r6, [r1, #" filter "+8]\n"                                                               \
    "ldrb r2, [r0, #" at "]\n"                                                                    \
    "sxtb r2, r2\n"                                                                               \
    "sxth r3, r5\n" EC_INT8_THUMB_1_PAIR("r8", "r9")                                              \
    "sxth r3, r6\n" EC_INT8_THUMB_1_PAIR("r10", "r11")                                            \
    "ldrb r2, [r0, #" next "]\n"                                                                  \
    "sxtb r2, r2\n"                                                                               \
    "asrs r3, r5, #16\n" EC_INT8_THUMB_1_PAIR("r8", "r9")                                         \
    "asrs r3, r6, #16\n" EC_INT8_THUMB_1_PAIR("r10", "r11")

/* See ec_int8_dot_joined: four sums of products that begin with 0, of a multiple of four numbers, not none. */
EC_NAKED void ec_int8_dot_joined_thumb_1(const int8_t *in __attribute__((unused)), const int8_t *in_end __attribute__((unused)),
                                         const int8_t *filters __attribute__((unused)),
                                         int32_t *sums __attribute__((unused)))
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r3-r7}\n"
        "mov r7, r1\n"
        "mov r1, r2\n"
        "movs r2, #0\n"
        "mov r8, r2\n"
        "mov r9, r2\n"
        "mov r10, r2\n"
        "mov r11, r2\n"
        "1:\n"
        EC_INT8_THUMB_1_DOT_HALF("0", "2", "0") EC_INT8_THUMB_1_DOT_HALF("1", "3", "4")
        "adds r0, #4\n"
        "adds r1, #16\n"
        "cmp r0, r7\n"
        "bne 1b\n"
        "pop {r3}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stmia r3!, {r4-r7}\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#endif
