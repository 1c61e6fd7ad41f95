/* RISC-V with RVV 1.0: a vector of 4 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 128
#define EC_ISA_NAME "rvv128"
#include "ec_rvv.h"
