/* SVE with vectors of 256 bits. */
#define EC_VECTOR_BITS 256
#define EC_ISA_NAME "csve256"
#define EC_TILE_VECS 16
#include "ec_csve_length.h"
#include "ec_vectors.h"
