/* What the micro-kernels of int8 by NEON share: sums in vectors of four int32.  Included by their headers,
   of which a program may have several. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_neon.h"
#include "ec_int8_lanes.h"

#endif
