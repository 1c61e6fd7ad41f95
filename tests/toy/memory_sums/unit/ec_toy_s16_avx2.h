/* The micro-kernel s16_toy beside vectors of avx2. */
#include "ec_int16_avx2.h"
#include "ec_toy_s16.h"
