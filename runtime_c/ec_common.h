/* What every other header of the runtime builds on.  Freestanding C11. */
#ifndef EC_COMMON_H
#define EC_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* All that is asked of a library.  GCC and Clang call these on their own accord too, wherever they
   compile for.  Freestanding C has no <string.h>; in parentheses, since that may define macros. */
void *(memcpy)(void *restrict to, const void *restrict from, size_t bytes);
void *(memmove)(void *to, const void *from, size_t bytes);
void *(memset)(void *to, int value, size_t bytes);
int(memcmp)(const void *left, const void *right, size_t bytes);

/* Words of GCC and Clang, which are written here and in the headers of ISAs alone: other compilers take
   portable C, the same numbers at whatever speed they find themselves. */
#if defined(__GNUC__) || defined(__clang__)
#define EC_ATTRIBUTES(...) __attribute__((__VA_ARGS__))
#define EC_IS_CONSTANT(x) __builtin_constant_p(x)
#define EC_COPY(to, from, bytes) ((void)__builtin_memcpy((to), (from), (bytes))) /* with -ffreestanding memcpy is a call */
#define EC_UNKNOWN(x) __asm__("" : "+r"(x)) /* from here on compilers do not know the integer or pointer x */
#else
#define EC_ATTRIBUTES(...)
#define EC_IS_CONSTANT(x) 0
#define EC_COPY(to, from, bytes) ((void)memcpy((to), (from), (bytes)))
#define EC_UNKNOWN(x) ((void)(x))
#endif

/* Kernels are written once and specialised by constant arguments, so they must be inlined; but where nothing is
   optimised, nothing is specialised either, and each exists once. */
#if !defined(__GNUC__) || defined(__OPTIMIZE__)
#define EC_INLINE static inline EC_ATTRIBUTES(always_inline, unused)
#else
#define EC_INLINE static inline EC_ATTRIBUTES(unused)
#endif

/* A choice among many functions: inlined, so that constants take the others away, but where nothing is optimised, or
   not before all is instrumented.  There it exists once. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EC_INSTRUMENTED
#endif
#endif
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(EC_INSTRUMENTED)
#define EC_CHOICE EC_INLINE
#else
#define EC_CHOICE static EC_ATTRIBUTES(unused)
#endif

/* A loop nest, which calls much: the same, and once where it is stepped through. */
#if defined(EC_DEBUG)
#define EC_NEST static EC_ATTRIBUTES(unused)
#else
#define EC_NEST EC_CHOICE
#endif

/* In a program of several threads, what a worker is given beside, and what its share of a loop is rather
   than all of it.  Emitted programs have one or the other, and none of this. */
#ifdef EC_WORKERS
#define EC_WORKER(...) __VA_ARGS__
#define EC_WORKER_OR(own, all) own
#else
#define EC_WORKER(...)
#define EC_WORKER_OR(own, all) all
#endif

/* What gains nothing from constant arguments exists once, for all callers. */
#define EC_SHARED static EC_ATTRIBUTES(noinline, unused)

/* What is hardly ever called, out of the way of what calls it. */
#define EC_RARE static EC_ATTRIBUTES(noinline, cold, unused)

/* Unroll a loop whose trip count is a constant once the function is inlined and optimised. */
#if defined(EC_DEBUG) || !defined(__OPTIMIZE__)
#define EC_UNROLL
#define EC_NO_UNROLL
#elif defined(__clang__)
#define EC_UNROLL _Pragma("clang loop unroll(full)")
#define EC_NO_UNROLL _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__)
#define EC_UNROLL _Pragma("GCC unroll 64")
#define EC_NO_UNROLL _Pragma("GCC unroll 1")
#else
#define EC_UNROLL
#define EC_NO_UNROLL
#endif

/* Keeps the compiler from hoisting the loads of one unrolled step above those of the step before:
   with every vector register taken by an accumulator, that only makes it spill. */
#if defined(__GNUC__) || defined(__clang__)
#define EC_IN_ORDER() __asm__ volatile("" ::: "memory")
#else
#define EC_IN_ORDER() ((void)0)
#endif

/* Bring a cache line near without waiting for it; any address may be named. */
#ifndef EC_LINE_BYTES
#define EC_LINE_BYTES 64
#endif
#if defined(__GNUC__) || defined(__clang__)
#define EC_PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define EC_PREFETCH_L1(p) __builtin_prefetch((p), 0, 3) /* as near as it gets */
#else
#define EC_PREFETCH(p) ((void)(p))
#define EC_PREFETCH_L1(p) ((void)(p))
#endif

EC_INLINE int ec_min_i(int a, int b) { return a < b ? a : b; }
EC_INLINE int ec_max_i(int a, int b) { return a > b ? a : b; }
/* Where row y lies in memory that holds `rows` of them in turn; all of them where rows is 0. */
EC_INLINE int ec_ring(int y, int rows) { return rows ? y % rows : y; }
/* Quotient rounded up, for b > 0 and any a. */
EC_INLINE int ec_ceil_div(int a, int b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }
/* The upper word of the product of 64 bits, floor(a b / 2^32).  Cores without a product of 64 bits, of Thumb-1, make it of
   four of 16 bits; no sum of two of these and what is carried passes 32 bits. */
EC_INLINE int32_t ec_high_word(int32_t a, int32_t b)
{
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1
    const uint32_t a_low = (uint32_t)a & 0xffff, b_low = (uint32_t)b & 0xffff;
    const int32_t a_high = a >> 16, b_high = b >> 16;
    const int32_t first = a_high * (int32_t)b_low + (int32_t)(a_low * b_low >> 16);
    const int32_t second = (int32_t)a_low * b_high + (first & 0xffff);
    return a_high * b_high + (first >> 16) + (second >> 16);
#else
    return (int32_t)(((int64_t)a * b) >> 32);
#endif
}

/* The bits of a float and back, as a copy so that no aliasing rule is broken. */
EC_INLINE uint32_t ec_bits(float x)
{
    uint32_t bits;
    EC_COPY(&bits, &x, sizeof bits);
    return bits;
}
EC_INLINE float ec_from_bits(uint32_t bits)
{
    float x;
    EC_COPY(&x, &bits, sizeof x);
    return x;
}

#endif
