/* The micro-kernel s8_wide on RVV: int8 that is widened to 16 bits in memory, where windows have few channels; a word
   holds two of them.  Included after ec_isa_rvv*.h. */
#ifndef EC_INT8_RVV_WIDE_H
#define EC_INT8_RVV_WIDE_H

#include "ec_int16_rvv.h"

typedef ec_s8_sums ec_s8_wide_sums;
#define ec_s8_wide_init ec_s8_init
#define ec_s8_wide_read ec_s8_read
#define ec_s8_wide_save ec_s8_save
#define ec_s8_wide_load ec_s8_load
#define ec_s8_wide_mac ec_s16_mac

#endif
