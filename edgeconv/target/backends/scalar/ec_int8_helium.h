/* Inner loops of int8 for Helium, the vectors of Armv8.1-M: VMLADAVA.S8 adds 16 products to a register,
   VMULLB and VMULLT make the products of even and of odd lanes.

   Written in assembly, as those of ec_int8_dsp.h: compilers neither make loops with tail predication of these
   nor keep sums in the even registers that VMLADAVA wants. */
#ifndef EC_INT8_HELIUM_H
#define EC_INT8_HELIUM_H

#include <arm_mve.h>

#ifndef EC_NAKED
#define EC_NAKED static __attribute__((naked, noinline, noipa, unused))
#endif

/* `n` > 0 bytes: a call of memcpy takes longer than most windows' rows. */
EC_INLINE void ec_int8_copy_helium(int8_t *to, const int8_t *from, int n)
{
    __asm__ volatile("dlstp.8 lr, %[n]\n"
            "1:\n"
            "vldrb.8 q0, [%[from]], #16\n"
            "vstrb.8 q0, [%[to]], #16\n"
            "letp lr, 1b\n"
            : [to] "+r"(to), [from] "+r"(from)
            : [n] "r"(n)
            : "lr", "q0", "memory");
}

/* `rows` of up to 16 bytes, n, of each of `count` windows, one behind the other: rows lie `below` bytes apart, windows `apart`. */
EC_INLINE void ec_int8_copy_windows_helium(int8_t *to, const int8_t *from, int n, int rows, ptrdiff_t below, ptrdiff_t apart,
                                           int count)
{
    const mve_pred16_t bytes = vctp8q((uint32_t)n);
    for (; count > 0; count--, from += apart) {
        const int8_t *row = from;
        for (int r = 0; r < rows; r++, row += below, to += n)
            vstrbq_p_s8(to, vldrbq_z_s8(row, bytes), bytes);
    }
}

/* Eight bytes of each of `n` > 0 pixels, `pixel` bytes from one to the next, to places `apart`.  Loads that widen and
   stores that narrow take addresses in r0 to r7. */
EC_INLINE void ec_int8_copy_1x8_helium(int8_t *to, ptrdiff_t apart, const int8_t *from, ptrdiff_t pixel, int n)
{
    __asm__ volatile("dls lr, %[n]\n"
            "1:\n"
            "vldrb.u16 q0, [%[from]]\n"
            "add %[from], %[from], %[pixel]\n"
            "vstrb.16 q0, [%[to]]\n"
            "add %[to], %[to], %[apart]\n"
            "le lr, 1b\n"
            : [to] "+l"(to), [from] "+l"(from)
            : [apart] "r"(apart), [pixel] "r"(pixel), [n] "r"(n)
            : "lr", "q0", "memory");
}

/* See ec_int8_add: four pairs. */
EC_INLINE void ec_int8_add_helium(ec_int8_result result, int32_t by_a, int32_t by_b, int ties,
                                  const int8_t *a, const int8_t *b, int8_t *out)
{
    const int32x4_t from_a = vmlaq_n_s32(vdupq_n_s32(result.offset), vldrbq_s32(a), by_a);
    const int32x4_t sum = vmlaq_n_s32(from_a, vldrbq_s32(b), by_b);
    const int32x4_t whole = vshlq_r_s32(EC_INT8_TO_EVEN(sum, result.right, ties), -result.right);
    vstrbq_s32(out, vmaxq_s32(vminq_s32(whole, vdupq_n_s32(result.high)), vdupq_n_s32(result.low)));
}

/* See ec_int8_1x4.  gap: bytes from the end of a pixel's results to the next one's. */
typedef struct ec_int8_1x4_job {
    const int8_t *filters;
    int n;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t offset, left, low, high;
    const int8_t *in;
    int pixels;
    ptrdiff_t in_pixel, out_pixel, gap;
#ifdef EC_ZERO_POINTS
    int32_t sum;
    const int32_t *by_sum;
#endif
} ec_int8_1x4_job;

/* enter: what is brought to the stack, of the job at r0; with_sums: sums in q0 are changed; leave: takes it from there. */
#define EC_INT8_EACH_FOUR(enter, with_sums, leave)                                                \
    "push {r4-r11, lr}\n"                                                                         \
    "vpush {d12-d15}\n"                                                                           \
    "ldrd r12, r1, [r0, #36]\n"                                                                   \
    "ldrd r2, r4, [r0, #28]\n"                                                                    \
    "vdup.32 q6, r2\n"                                                                            \
    "vdup.32 q7, r4\n"                                                                            \
    "push {r0, r1}\n" /* job, pixels */                                                           \
    enter                                                                                         \
    "ldrd r10, r11, [r0, #20]\n"                                                                  \
    "ldrd r7, r9, [r0, #12]\n"                                                                    \
    "ldr r5, [r0, #8]\n"                                                                          \
    "ldrd r1, r3, [r0]\n"                                                                         \
    "1:\n" /* four filters */                                                                     \
    "ldm r5!, {r2, r4, r6, r8}\n"                                                                 \
    "mov r0, r12\n"                                                                               \
    "dlstp.8 lr, r3\n"                                                                            \
    "2:\n"                                                                                        \
    "vldrb.8 q0, [r0], #16\n"                                                                     \
    "vldrb.8 q1, [r1], #64\n"                                                                     \
    "vmladava.s8 r2, q0, q1\n"                                                                    \
    "vldrb.8 q2, [r1, #-48]\n"                                                                    \
    "vmladava.s8 r4, q0, q2\n"                                                                    \
    "vldrb.8 q3, [r1, #-32]\n"                                                                    \
    "vmladava.s8 r6, q0, q3\n"                                                                    \
    "vldrb.8 q1, [r1, #-16]\n"                                                                    \
    "vmladava.s8 r8, q0, q1\n"                                                                    \
    "letp lr, 2b\n"                                                                               \
    "vmov q0[2], q0[0], r2, r6\n"                                                                 \
    "vmov q0[3], q0[1], r4, r8\n"                                                                 \
    with_sums                                                                                     \
    EC_INT8_OF_FOUR("q0")                                                                         \
    "vstrb.32 q0, [r7], #4\n"                                                                     \
    "cmp r7, r9\n"                                                                                \
    "bne 1b\n"                                                                                    \
    leave                                                                                         \
    "ldrd r0, r2, [sp]\n"                                                                         \
    "ldrd r4, r6, [r0, #44]\n" /* in_pixel, out_pixel */                                          \
    "ldr r8, [r0, #52]\n"                                                                         \
    "subs r2, r2, #1\n"                                                                           \
    "str r2, [sp, #4]\n"                                                                          \
    "ldr r5, [r0, #8]\n"                                                                          \
    "ldr r1, [r0]\n"                                                                              \
    "add r12, r12, r4\n"                                                                          \
    "add r7, r7, r8\n"                                                                            \
    "add r9, r9, r6\n"                                                                            \
    "bne 1b\n"                                                                                    \
    "add sp, sp, #8\n"                                                                            \
    "vpop {d12-d15}\n"                                                                            \
    "pop {r4-r11, pc}\n"

EC_NAKED void ec_int8_1x4_helium(const ec_int8_1x4_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_FOUR("", "", ""));
}

#ifdef EC_ZERO_POINTS
EC_NAKED void ec_int8_1x4_around_helium(const ec_int8_1x4_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_FOUR(
        "ldrd r2, r4, [r0, #56]\n"
        "push {r2, r4}\n", /* sum, by_sum */
        "ldrd r2, r4, [sp]\n"
        "vldrw.32 q1, [r4], #16\n"
        "str r4, [sp, #4]\n"
        "vmla.s32 q0, q1, r2\n",
        "add sp, sp, #8\n"));
}
#endif

/* See ec_int8_3x3_1x8. */
typedef struct ec_int8_3x3_1x8_job {
    const int8_t *panel;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t offset, left, low, high;
    ptrdiff_t out_pixel, panel_skip;
} ec_int8_3x3_1x8_job;

#define EC_INT8_TAP(at)                                                                           \
    "vldrb.s16 q2, [r0, #" at "]\n"                                                               \
    "vldrb.s16 q3, [r2, #" at "]\n"                                                               \
    "vmullb.s16 q4, q2, q3\n"                                                                     \
    "vmullt.s16 q2, q2, q3\n"                                                                     \
    "vadd.i32 q0, q0, q4\n"                                                                       \
    "vadd.i32 q1, q1, q2\n"

EC_NAKED void ec_int8_3x3_1x8_helium(const ec_int8_3x3_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {d8-d15}\n"
        "ldrd r4, r5, [r0, #24]\n"
        "vdup.32 q6, r4\n"
        "vdup.32 q7, r5\n"
        "ldrd r5, r6, [r0, #32]\n"
        "ldrd r10, r11, [r0, #16]\n"
        "ldrd r3, r4, [r0, #8]\n"
        "ldrd r0, r1, [r0]\n"
        "add r2, r1, " EC_INT8_1X8_FILTERS "\n"
        "1:\n"
        "vldrw.32 q0, [r1]\n"
        "vldrw.32 q1, [r1, #16]\n"
        EC_INT8_TAP("0") EC_INT8_TAP("8") EC_INT8_TAP("16") EC_INT8_TAP("24") EC_INT8_TAP("32")
        EC_INT8_TAP("40") EC_INT8_TAP("48") EC_INT8_TAP("56") EC_INT8_TAP("64")
        EC_INT8_OF_SUMS("q0", "[r1, #32]", "[r1, #64]", "[r1, #96]")
        EC_INT8_OF_SUMS("q1", "[r1, #48]", "[r1, #80]", "[r1, #112]")
        "vmovnt.i32 q0, q1\n"
        "vstrb.16 q0, [r3]\n"
        "add r3, r3, r5\n"
        "add r0, r0, r6\n"
        "cmp r3, r4\n"
        "bne 1b\n"
        "vpop {d8-d15}\n"
        "pop {r4-r11, pc}\n");
}

/* See ec_int8_1x8. */
typedef struct ec_int8_1x8_job {
    const int8_t *panel;
    const int32_t *channels;
    int8_t *out, *out_end;
    int32_t offset, left, low, high;
    ptrdiff_t out_pixel, panel_skip;
    int taps;
} ec_int8_1x8_job;

#define EC_INT8_EACH_WINDOW(filter)                                                                \
    "push {r4-r11, lr}\n"                                                                         \
    "vpush {d8-d15}\n"                                                                            \
    "ldrd r4, r5, [r0, #24]\n"                                                                    \
    "vdup.32 q6, r4\n"                                                                            \
    "vdup.32 q7, r5\n"                                                                            \
    "ldr r12, [r0, #40]\n"                                                                        \
    "ldrd r5, r6, [r0, #32]\n"                                                                    \
    "ldrd r10, r11, [r0, #16]\n"                                                                  \
    "ldrd r3, r4, [r0, #8]\n"                                                                     \
    "ldrd r0, r1, [r0]\n"                                                                         \
    "1:\n" /* a window */                                                                         \
    "vldrw.32 q0, [r1]\n"                                                                         \
    "vldrw.32 q1, [r1, #16]\n"                                                                    \
    "add r2, r1, " EC_INT8_1X8_FILTERS "\n"                                                       \
    "mov r7, r0\n"                                                                                \
    "dls lr, r12\n"                                                                               \
    "2:\n"                                                                                        \
    "vldrb.s16 q2, [r7], #8\n"                                                                    \
    filter                                                                                        \
    "vmullb.s16 q4, q2, q3\n"                                                                     \
    "vmullt.s16 q2, q2, q3\n"                                                                     \
    "vadd.i32 q0, q0, q4\n"                                                                       \
    "vadd.i32 q1, q1, q2\n"                                                                       \
    "le lr, 2b\n"                                                                                 \
    EC_INT8_OF_SUMS("q0", "[r1, #32]", "[r1, #64]", "[r1, #96]")                                  \
    EC_INT8_OF_SUMS("q1", "[r1, #48]", "[r1, #80]", "[r1, #112]")                                 \
    "vmovnt.i32 q0, q1\n"                                                                         \
    "vstrb.16 q0, [r3]\n"                                                                         \
    "add r3, r3, r5\n"                                                                            \
    "add r0, r0, r6\n"                                                                            \
    "cmp r3, r4\n"                                                                                \
    "bne 1b\n"                                                                                    \
    "vpop {d8-d15}\n"                                                                             \
    "pop {r4-r11, pc}\n"

EC_NAKED void ec_int8_1x8_helium(const ec_int8_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_WINDOW("vldrb.s16 q3, [r2], #8\n"));
}

#ifdef EC_ZERO_POINTS
EC_NAKED void ec_int8_wide_1x8_helium(const ec_int8_1x8_job *job __attribute__((unused)))
{
    __asm__ volatile(EC_INT8_EACH_WINDOW("vldrh.u16 q3, [r2], #16\n"));
}
#endif

#endif
