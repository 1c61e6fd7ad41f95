/* SVE with vectors of 512 bits. */
#define EC_VECTOR_BITS 512
#define EC_ISA_NAME "csve512"
#define EC_TILE_VECS 16
#include "ec_csve_length.h"
#include "ec_vectors.h"
