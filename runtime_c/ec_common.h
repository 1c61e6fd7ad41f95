/* What every other header of the runtime builds on.  C11, no library beyond the mem* functions. */
#ifndef EC_COMMON_H
#define EC_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Kernels are written once and specialised by constant arguments, so they must be inlined. */
#define EC_INLINE static inline __attribute__((always_inline, unused))

/* What gains nothing from constant arguments exists once, for all callers. */
#define EC_SHARED static __attribute__((noinline, unused))

/* Unroll a loop whose trip count is a constant once the function is inlined. */
#if defined(__clang__)
#define EC_UNROLL _Pragma("clang loop unroll(full)")
#define EC_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define EC_UNROLL _Pragma("GCC unroll 64")
#define EC_NO_UNROLL _Pragma("GCC unroll 1")
#endif

/* Keeps the compiler from hoisting the loads of one unrolled step above those of the step before:
   with every vector register taken by an accumulator, that only makes it spill. */
#define EC_STEP() __asm__ volatile("" ::: "memory")

/* Bring a cache line near without waiting for it; any address may be named. */
#define EC_LINE_BYTES 64
#define EC_LINE_FLOATS 16
#define EC_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define EC_PREFETCH_L1(p) __builtin_prefetch((p), 0, 3) /* as near as it gets */

EC_INLINE int ec_min_i(int a, int b) { return a < b ? a : b; }
EC_INLINE int ec_max_i(int a, int b) { return a > b ? a : b; }
/* Quotient rounded up, for b > 0 and any a. */
EC_INLINE int ec_ceil_div(int a, int b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/* The bits of a float and back, as memcpy so that no aliasing rule is broken. */
EC_INLINE uint32_t ec_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
EC_INLINE float ec_from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

#endif
