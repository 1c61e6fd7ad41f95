/* The micro-kernel s16_toy beside vectors of portable. */
#include "ec_int16_portable.h"
#include "ec_toy_s16.h"
