/* AArch64 SVE: a vector of 4 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 128
#define EC_ISA_NAME "sve128"
#define EC_TILE_VECS 28 /* of 32 registers; the rest hold filters and the broadcast pixel */
#include "ec_sve.h"
