/* RISC-V with RVV 1.0: a vector of 8 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 256
#define EC_ISA_NAME "rvv256"
#include "ec_rvv.h"
