/* Vectors of EC_BYTES numbers of int8: POWER10.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 16
typedef __vector signed char ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return vec_xl(0, (const signed char *)p); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { vec_xst(v, 0, (signed char *)p); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return vec_max(a, b); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b)
{
    return (ec_bvec)vec_max((__vector signed short)a, (__vector signed short)b);
}

/* vperm looks up 32 bytes by the lower five bits; of the eight so found the upper ones choose. */
typedef struct ec_btable {
    ec_bvec row[16];
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    ec_btable table;
    EC_UNROLL
    for (int i = 0; i < 16; i++)
        table.row[i] = ec_bload(bytes + 16 * i);
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    const __vector unsigned char bit7 = (__vector unsigned char)x;
    const __vector unsigned char bit6 = bit7 + bit7, bit5 = bit6 + bit6; /* in the upper bit */
    ec_bvec of[8];
    EC_UNROLL
    for (int i = 0; i < 8; i++)
        of[i] = vec_perm(table->row[2 * i], table->row[2 * i + 1], bit7);
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        of[i] = vec_blendv(of[2 * i], of[2 * i + 1], bit5);
    return vec_blendv(vec_blendv(of[0], of[1], bit6), vec_blendv(of[2], of[3], bit6), bit7);
}

#include "ec_bytes_first.h"

#endif
