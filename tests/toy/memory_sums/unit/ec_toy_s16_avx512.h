/* The micro-kernel s16_toy beside vectors of avx512. */
#include "ec_int16_avx512.h"
#include "ec_toy_s16.h"
