/* Loads and stores of stored numbers in portable C: a vector of one float.  Every function here is
   the meaning of its counterparts in the other headers, per lane.

   fmt is a constant once inlined, and EC_F32 is ec_load and ec_store.  For the other formats p may
   be any address.  Nothing is read or written but the bytes of the elements named. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* EC_VL elements. */
EC_INLINE ec_vec ec_load_as(const void *p, int fmt) { return ec_get_as(p, fmt); }
/* Those from element i on, a multiple of EC_VL, of the ones at p. */
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt) { return ec_get_at(p, i, fmt); }

/* The element at p in every lane. */
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }

/* Rounds or truncates as ec_stored.h says; not for integers. */
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    unsigned char *b = (unsigned char *)p;
    if (fmt == EC_F32) {
        ec_store((float *)p, v);
        return;
    }
    const uint32_t bits = ec_round_bits(ec_bits(v), fmt);
    const int bytes = EC_STORED_BYTES(fmt);
    EC_UNROLL
    for (int i = 0; i < bytes; i++)
        b[i] = (unsigned char)(bits >> 8 * (4 - bytes + i));
}

/* The first n elements, 0 <= n <= EC_VL; the others read as zero and are not written. */
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    return n > 0 ? ec_get_as(p, fmt) : 0.0f;
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    if (n > 0)
        ec_store_as(p, v, fmt);
}

#endif
