/* Vectors of 512 bits, as GCC and Clang spell them for any processor. */
#define EC_VECTOR_BITS 512
#define EC_ISA_NAME "vectors512"
#include "ec_vectors.h"
