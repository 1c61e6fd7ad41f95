/* AArch64 NEON, and beside it a matrix unit whose vectors have 128 bits. */
#define EC_VECTOR_BYTES 16
#include "ec_sme_length.h"
#include "ec_isa_neon.h"
