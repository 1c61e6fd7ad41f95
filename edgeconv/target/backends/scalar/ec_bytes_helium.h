/* Vectors of EC_BYTES numbers of int8: Helium.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#include <arm_mve.h>

#define EC_BYTES 16
typedef int8x16_t ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return vldrbq_s8(p); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { vstrbq_s8(p, v); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return vmaxq_s8(a, b); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b)
{
    return vreinterpretq_s8_s16(vmaxq_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b)));
}

typedef struct ec_btable {
    const int8_t *bytes;
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    const ec_btable table = {bytes};
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    return vldrbq_gather_offset_s8(table->bytes, vreinterpretq_u8_s8(x));
}

#include "ec_bytes_first.h"

#endif
