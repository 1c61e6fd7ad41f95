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
EC_INLINE ec_bvec ec_bload_first(const int8_t *p, int n)
{
    int8_t bytes[EC_BYTES] = {0};
    memcpy(bytes, p, (size_t)n);
    return ec_bload(bytes);
}
EC_INLINE void ec_bstore_first(int8_t *p, ec_bvec v, int n)
{
    int8_t bytes[EC_BYTES];
    ec_bstore(bytes, v);
    memcpy(p, bytes, (size_t)n);
}

#endif
