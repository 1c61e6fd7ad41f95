/* The micro-kernel s8_toy beside vectors of avx2. */
#define EC_TOY_MULTIPLE 4
#define EC_TOY_SHIFT 128
#include "ec_int8_avx2.h"
#include "ec_toy_s8.h"
