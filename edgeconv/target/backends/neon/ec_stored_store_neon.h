/* Stores that 64-bit and 32-bit NEON spell alike, of what they spell each in its own way.  Included by
   their headers. */

EC_INLINE void ec_store_flyte16(uint8_t *p, ec_vec v)
{
    vst1_u8(p, vreinterpret_u8_u16(vshrn_n_u32(ec_round_as(v, EC_F16, EC_TRUNCATE), 16)));
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: ec_store_flyte24((uint8_t *)p, v); break;
    case EC_F16: ec_store_flyte16((uint8_t *)p, v); break;
    case EC_F8: ec_store_highest((uint8_t *)p, ec_round_as(v, EC_F8, EC_TRUNCATE)); break;
    case EC_Q8: ec_store_highest((uint8_t *)p, ec_round_q8(v, fmt)); break;
    case EC_Q16: vst1_u8((uint8_t *)p, vreinterpret_u8_s16(ec_round_q16(v, fmt))); break;
    default: ec_store((float *)p, v);
    }
}

#include "ec_stored_tails.h"
