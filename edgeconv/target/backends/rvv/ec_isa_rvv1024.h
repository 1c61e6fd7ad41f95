/* RISC-V with RVV 1.0: a vector of 32 floats.  Meanings: see ec_isa_portable.h. */
#define EC_VECTOR_BITS 1024
#define EC_ISA_NAME "rvv1024"
#include "ec_rvv.h"
