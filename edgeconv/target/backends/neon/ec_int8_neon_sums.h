/* What the micro-kernels of int8 by NEON share: sums in vectors of four int32.  Included by their headers,
   of which a program may have several. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_neon.h"
#include "ec_int8_lanes.h"

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
#define EC_FILTERS_TOGETHER 1
#else /* Clang spills with as many registers taken at once */
#define EC_FILTERS_TOGETHER 0
#endif

/* Whether several vectors of filters are one load: cores in order would wait for all of them. */
#ifdef EC_LOADS_IN_ORDER
EC_INLINE int ec_filters_run(void) { return 0; }
#else
EC_INLINE int ec_filters_run(void) { return EC_FILTERS_TOGETHER; }
#endif

/* The next n vectors of filters, up to four; p moves on. */
EC_INLINE void ec_filters_next(int8x16_t *filters, const int8_t **p, int n)
{
#if EC_FILTERS_TOGETHER
    if (n == 4) {
        int8x16x4_t run;
        __asm__ volatile("ld1 {%S0.16b - %V0.16b}, [%1], #64" : "=w"(run), "+r"(*p)::"memory");
        EC_UNROLL
        for (int i = 0; i < 4; i++)
            filters[i] = run.val[i];
        return;
    }
    if (n == 3) {
        int8x16x3_t run;
        __asm__ volatile("ld1 {%S0.16b - %U0.16b}, [%1], #48" : "=w"(run), "+r"(*p)::"memory");
        EC_UNROLL
        for (int i = 0; i < 3; i++)
            filters[i] = run.val[i];
        return;
    }
    if (n == 2) {
        __asm__ volatile("ldp %q0, %q1, [%2], #32" : "=w"(filters[0]), "=w"(filters[1]), "+r"(*p)::"memory");
        return;
    }
#endif
    EC_UNROLL
    for (int i = 0; i < n; i++)
#ifdef __aarch64__
        __asm__ volatile("ldr %q0, [%1], #16" : "=w"(filters[i]), "+r"(*p)::"memory");
#else
        __asm__ volatile("vld1.8 {%e0-%f0}, [%1]!" : "=w"(filters[i]), "+r"(*p)::"memory");
#endif
}

#endif
