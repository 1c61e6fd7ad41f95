/* Loop of ec_int8_joined.h for Armv6-M and Armv8-M Baseline, whose instructions are those of Thumb-1.
   Needs ec_naked.h. */
#ifndef EC_INT8_THUMB_1_JOINED_H
#define EC_INT8_THUMB_1_JOINED_H

/* r0 panel, r1 filters.  Sums of three pixels: r8 to r10 of the first filter, r11, r12 and lr of both, of the second 256
   times.  A number of a pixel has to be copied, since a product is written over one of its factors: SXTH and ASRS do that
   as they widen it.  Half a k-block, two numbers of a window: r2 to r4 those of the pixels, r7 those of both filters. */
#define EC_INT8_THUMB_1_NUMBER(take, first, second, third, number)                                \
    take("r6", "r2") "muls r6, " number ", r6\nadd " first ", r6\n"                               \
    take("r6", "r3") "muls r6, " number ", r6\nadd " second ", r6\n"                              \
    take("r6", "r4") "muls r6, " number ", r6\nadd " third ", r6\n"
#define EC_INT8_THUMB_1_LOW(to, from) "sxth " to ", " from "\n"
#define EC_INT8_THUMB_1_HIGH(to, from) "asrs " to ", " from ", #16\n"
#define EC_INT8_THUMB_1_HALF(at, filter)                                                          \
    "ldr r2, [r0, #" at "]\n"                                                                     \
    "ldr r3, [r0, #" at "+8]\n"                                                                   \
    "ldr r4, [r0, #" at "+16]\n"                                                                  \
    "ldr r7, [r1, #" filter "]\n"                                                                 \
    "sxtb r5, r7\n"                                                                               \
    EC_INT8_THUMB_1_NUMBER(EC_INT8_THUMB_1_LOW, "r8", "r9", "r10", "r5")                          \
    "sxth r5, r7\n"                                                                               \
    EC_INT8_THUMB_1_NUMBER(EC_INT8_THUMB_1_LOW, "r11", "r12", "lr", "r5")                         \
    "asrs r7, r7, #16\n"                                                                          \
    "sxtb r5, r7\n"                                                                               \
    EC_INT8_THUMB_1_NUMBER(EC_INT8_THUMB_1_HIGH, "r8", "r9", "r10", "r5")                         \
    EC_INT8_THUMB_1_NUMBER(EC_INT8_THUMB_1_HIGH, "r11", "r12", "lr", "r7")

/* See ec_int8_joined.  Six sums of products that begin with 0: of the first filter, then of both. */
EC_NAKED void ec_int8_joined_thumb_1(const int16_t *panel __attribute__((unused)),
                                     const int16_t *panel_end __attribute__((unused)),
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
        "push {r4-r7}\n"
        "push {r1, r3}\n"
        "mov r1, r2\n"
        "movs r2, #0\n"
        "mov r8, r2\n"
        "mov r9, r2\n"
        "mov r10, r2\n"
        "mov r11, r2\n"
        "mov r12, r2\n"
        "mov lr, r2\n"
        "1:\n"
        EC_INT8_THUMB_1_HALF("0", "0") EC_INT8_THUMB_1_HALF("4", "4")
        "adds r0, #24\n"
        "ldr r5, [sp]\n"
        "adds r1, #8\n"
        "cmp r0, r5\n"
        "bne 1b\n"
        "pop {r0, r1}\n"
        "mov r2, r8\n"
        "mov r3, r9\n"
        "mov r4, r10\n"
        "mov r5, r11\n"
        "mov r6, r12\n"
        "mov r7, lr\n"
        "stmia r1!, {r2-r7}\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}

#endif
