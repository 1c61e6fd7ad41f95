/* Vectors of 128 bits, as GCC and Clang spell them for any processor. */
#define EC_VECTOR_BITS 128
#define EC_ISA_NAME "vectors128"
#include "ec_vectors.h"
