/* ec_isa_neon.h for cores that execute in order. */
#define EC_LOADS_IN_ORDER 1
#include "ec_isa_neon.h"
