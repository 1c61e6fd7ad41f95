/* Vectors of 256 bits, as GCC and Clang spell them for any processor. */
#define EC_VECTOR_BITS 256
#define EC_ISA_NAME "vectors256"
#include "ec_vectors.h"
