/* Inner loops of int16 by int8 for Helium: VMLADAVA.S16 adds eight products to a register. */
#ifndef EC_INT16_HELIUM_H
#define EC_INT16_HELIUM_H

#include <arm_mve.h>

enum { EC_INT16_PIXELS = 1, EC_INT16_FILTERS = 4, EC_INT16_TOGETHER = 8 };

/* sums[filter] of one pixel; what is beyond its numbers is not read. */
EC_INLINE void ec_int16_sums(const int16_t *pixel, const int8_t *filters, int numbers, int32_t *sums, int pixels)
{
    register int32_t a __asm__("r2") = 0, b __asm__("r4") = 0, c __asm__("r6") = 0, d __asm__("r8") = 0;
    (void)pixels;
    __asm__ volatile("dlstp.16 lr, %[n]\n"
                     "1:\n"
                     "vldrh.u16 q0, [%[pixel]], #16\n"
                     "vldrb.s16 q1, [%[filters]], #32\n"
                     "vmladava.s16 %[a], q0, q1\n"
                     "vldrb.s16 q2, [%[filters], #-24]\n"
                     "vmladava.s16 %[b], q0, q2\n"
                     "vldrb.s16 q3, [%[filters], #-16]\n"
                     "vmladava.s16 %[c], q0, q3\n"
                     "vldrb.s16 q1, [%[filters], #-8]\n"
                     "vmladava.s16 %[d], q0, q1\n"
                     "letp lr, 1b\n"
                     : [pixel] "+r"(pixel), [filters] "+l"(filters), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                     : [n] "r"(numbers)
                     : "lr", "q0", "q1", "q2", "q3", "memory");
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

#endif
