/* RISC-V with RVV 1.0: a vector of 16 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 512
#define EC_ISA_NAME "rvv512"
#include "ec_rvv.h"
