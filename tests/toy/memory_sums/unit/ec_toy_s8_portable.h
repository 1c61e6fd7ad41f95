/* The micro-kernel s8_toy beside vectors of portable. */
#define EC_TOY_MULTIPLE 1
#define EC_TOY_SHIFT 0
#include "ec_int8_portable.h"
#include "ec_toy_s8.h"
