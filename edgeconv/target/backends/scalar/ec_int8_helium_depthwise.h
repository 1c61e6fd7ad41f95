/* Windows of a depthwise layer of int8 under eight channels, in the order of ec_int8_depthwise_1x8.h, for Helium: sums of the
   even channels are in q2, of the odd ones in q3.  Results are bounded to int8 here.  Needs ec_int8_helium_tiles.h. */
#ifndef EC_INT8_HELIUM_DEPTHWISE_H
#define EC_INT8_HELIUM_DEPTHWISE_H

/* As ec_int8_pad_row, of rows of n bytes. */
EC_INLINE void ec_int8_pad_row_helium(const ec_window *window, int n, int padding, int8_t *outside, int row0, int row1)
{
    const int last = (row1 - 1) * window->stride_h - window->pad_h + (window->kernel_h - 1) * window->dilation_h;
    if (row0 * window->stride_h < window->pad_h || last >= window->in_h)
        ec_int8_fill_helium(outside, padding, n);
}

/* added, left: see ec_int8_scaling.h. */
typedef struct ec_int8_1x8_job {
    const int8_t *panel;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t added, left;
    ptrdiff_t out_pixel, panel_skip;
    int taps;
} ec_int8_1x8_job;

/* r0: the panel, r1: words, r3: output, r4: its end, r6: panel_skip, r8: out_pixel, r9 and r11 for scalings, r12: taps. */
#define EC_INT8_1X8_BEGIN                                                                         \
    "push {r4-r11, lr}\n"                                                                         \
    "vpush {d8-d15}\n"                                                                            \
    "ldr r12, [r0, #32]\n"                                                                        \
    "ldrd r8, r6, [r0, #24]\n"                                                                    \
    "ldrd r9, r11, [r0, #16]\n"                                                                   \
    "ldrd r3, r4, [r0, #8]\n"                                                                     \
    "ldrd r0, r1, [r0]\n"
#define EC_INT8_1X8_END                                                                           \
    "vpop {d8-d15}\n"                                                                             \
    "pop {r4-r11, pc}\n"

/* The starts, and r5 where scalings begin. */
#define EC_INT8_1X8_STARTS                                                                        \
    "vldrw.32 q2, [r1]\n"                                                                         \
    "add r5, r1, #16\n"                                                                           \
    "vldrw.32 q3, [r1, #" EC_INT8_1X8_ODD "]\n"

/* The upper bytes of q2 and q3 are put together, and stored at r3. */
#define EC_INT8_OF_EVEN(of) of("q2")
#define EC_INT8_OF_ODD(of) of("q3")
#define EC_INT8_1X8_RESULTS                                                                       \
    EC_INT8_SCALED(EC_INT8_OF_EVEN)                                                               \
    "adds r5, r5, #16\n"                                                                          \
    EC_INT8_SCALED(EC_INT8_OF_ODD)                                                                \
    EC_INT8_SATURATE("q2")                                                                        \
    EC_INT8_SATURATE("q3")                                                                        \
    "vshr.u32 q3, q3, #8\n"                                                                       \
    "add r0, r0, r6\n"                                                                            \
    "vsri.32 q3, q2, #24\n"                                                                       \
    "vstrb.16 q3, [r3]\n"                                                                         \
    "add r3, r3, r8\n"                                                                            \
    "cmp r3, r4\n"

/* The products of numbers and their filters in two vectors; meanwhile the next ones are loaded. */
#define EC_INT8_TAP(numbers, filters, next_numbers, next_filters)                                 \
    "vmullb.s16 q4, " numbers ", " filters "\n"                                                   \
    next_numbers                                                                                  \
    "vmullt.s16 q5, " numbers ", " filters "\n"                                                   \
    "vadd.i32 q2, q2, q4\n"                                                                       \
    next_filters                                                                                  \
    "vadd.i32 q3, q3, q5\n"
#define EC_INT8_NUMBERS(to, at) "vldrb.s16 " to ", [r0, #" at "]\n"
#define EC_INT8_FILTERS(to, at) "vldrb.s16 " to ", [r2, #" at "]\n"
#define EC_INT8_TAP_0(at) EC_INT8_TAP("q0", "q1", EC_INT8_NUMBERS("q6", at), EC_INT8_FILTERS("q7", at))
#define EC_INT8_TAP_1(at) EC_INT8_TAP("q6", "q7", EC_INT8_NUMBERS("q0", at), EC_INT8_FILTERS("q1", at))

EC_NAKED void ec_int8_3x3_1x8_helium(const ec_int8_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(
        EC_INT8_1X8_BEGIN
        "add r2, r1, " EC_INT8_1X8_FILTERS "\n"
        "1:\n"
        EC_INT8_NUMBERS("q0", "0")
        EC_INT8_1X8_STARTS
        EC_INT8_FILTERS("q1", "0")
        EC_INT8_TAP_0("8") EC_INT8_TAP_1("16") EC_INT8_TAP_0("24") EC_INT8_TAP_1("32")
        EC_INT8_TAP_0("40") EC_INT8_TAP_1("48") EC_INT8_TAP_0("56") EC_INT8_TAP_1("64")
        EC_INT8_TAP("q0", "q1", "", "")
        EC_INT8_1X8_RESULTS
        "bne 1b\n"
        EC_INT8_1X8_END);
}

#define EC_INT8_EACH_WINDOW(filter)                                                               \
    EC_INT8_1X8_BEGIN                                                                             \
    "1:\n" /* a window */                                                                         \
    EC_INT8_1X8_STARTS                                                                            \
    "add r2, r1, " EC_INT8_1X8_FILTERS "\n"                                                       \
    "mov r7, r0\n"                                                                                \
    "dls lr, r12\n"                                                                               \
    "2:\n"                                                                                        \
    "vldrb.s16 q0, [r7], #8\n"                                                                    \
    filter                                                                                        \
    EC_INT8_TAP("q0", "q1", "", "")                                                               \
    "le lr, 2b\n"                                                                                 \
    EC_INT8_1X8_RESULTS                                                                           \
    "bne 1b\n"                                                                                    \
    EC_INT8_1X8_END

EC_NAKED void ec_int8_1x8_helium(const ec_int8_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_WINDOW("vldrb.s16 q1, [r2], #8\n"));
}

#ifdef EC_ZERO_POINTS
EC_NAKED void ec_int8_wide_1x8_helium(const ec_int8_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_WINDOW("vldrh.u16 q1, [r2], #16\n"));
}
#endif

#endif
