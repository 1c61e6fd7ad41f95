/* A value that is in a vector register for certain, and the widest value that one load brings. */
#ifndef EC_REGISTERS_H
#define EC_REGISTERS_H

/* Portable C has no vector of its own; what it loads, compilers combine into those of the CPU. */
#if EC_VL > 1
typedef ec_vec ec_wide;
#elif defined(__SSE2__) || defined(__aarch64__) || defined(__ARM_NEON) || defined(__VSX__)
typedef float ec_wide __attribute__((vector_size(16)));
#else
typedef double ec_wide;
#endif

#if defined(__x86_64__) && defined(__AVX512F__)
#define EC_VECTOR_REGISTER "v"
#elif defined(__x86_64__)
#define EC_VECTOR_REGISTER "x"
#elif defined(__powerpc64__)
#define EC_VECTOR_REGISTER "wa"
#else
#define EC_VECTOR_REGISTER "w"
#endif

/* The compiler must have x in a register here, and knows nothing of its value afterwards. */
#define EC_IN_REGISTER(x) __asm__ volatile("" : "+" EC_VECTOR_REGISTER(x))

#endif
