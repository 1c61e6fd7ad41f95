/* AArch64 SVE: a vector of 16 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 512
#define EC_ISA_NAME "sve512"
#define EC_TILE_VECS 28 /* of 32 registers; the rest hold filters and the broadcast pixel */
#include "ec_sve.h"
