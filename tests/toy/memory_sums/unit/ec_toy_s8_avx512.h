/* The micro-kernel s8_toy beside vectors of avx512. */
#define EC_TOY_MULTIPLE 6
#define EC_TOY_SHIFT 0
#include "ec_int8_avx512.h"
#include "ec_toy_s8.h"
