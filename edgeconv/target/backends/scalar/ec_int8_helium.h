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

/* n bytes become `padding`. */
EC_INLINE void ec_int8_fill_helium(int8_t *to, int padding, int n)
{
    if (n > 0)
        __asm__ volatile("vdup.8 q0, %[padding]\n"
                "dlstp.8 lr, %[n]\n"
                "1:\n"
                "vstrb.8 q0, [%[to]], #16\n"
                "letp lr, 1b\n"
                : [to] "+r"(to)
                : [padding] "r"(padding), [n] "r"(n)
                : "lr", "q0", "memory");
}

/* n > 0 bytes of each of `count` > 0 windows, a vector of all windows at a time. */
EC_NAKED void ec_int8_copy_each_helium(int8_t *to __attribute__((unused)), ptrdiff_t apart __attribute__((unused)),
                                       const int8_t *from __attribute__((unused)), ptrdiff_t from_apart __attribute__((unused)),
                                       int n __attribute__((unused)), int count __attribute__((unused)))
{
    __asm__ volatile(
        "push {r4-r7, lr}\n"
        "ldrd r4, r5, [sp, #20]\n"
        "1:\n" /* a vector */
        "vctp.8 r4\n"
        "mov r6, r0\n"
        "mov r7, r2\n"
        "dls lr, r5\n"
        "2:\n"
        "vpstt\n"
        "vldrbt.8 q0, [r7]\n"
        "vstrbt.8 q0, [r6]\n"
        "add r7, r7, r3\n"
        "add r6, r6, r1\n"
        "le lr, 2b\n"
        "add r0, r0, #16\n"
        "add r2, r2, #16\n"
        "subs r4, r4, #16\n"
        "bgt 1b\n"
        "pop {r4-r7, pc}\n");
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

#include "ec_int8_helium_tiles.h"

#include "ec_int8_helium_depthwise.h"

#endif
