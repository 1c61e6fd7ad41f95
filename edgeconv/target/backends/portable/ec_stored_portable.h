/* Loads and stores of stored numbers in portable C: a vector of one float.  Every function here is
   the meaning of its counterparts in the other headers, per lane.

   fmt is a constant once inlined, and EC_F32 is ec_load and ec_store.  For the other formats p may
   be any address.  Nothing is read or written but the bytes of the elements named. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* EC_VL elements at p. */
EC_INLINE ec_vec ec_load_as(const void *p, int fmt) { return ec_get_as(p, fmt); }
/* EC_VL elements from element i on, a multiple of EC_VL, of the ones at p. */
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt) { return ec_get_at(p, i, fmt); }

/* The element at p in every lane. */
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }

/* The sum of the nearest integer and 1.5 * 2^23 holds it in its lowest bits.  A conversion would be
   undefined for NaN.  128 more, and the range is that of a byte, for which Arm has an instruction. */
EC_INLINE void ec_put_q8(unsigned char *p, float x, int fmt)
{
    const uint32_t sum = ec_bits(ec_to_q8(x, 12582912.0f + 128.0f, fmt));
    const int above = (int)(sum - 0x4b400000u);
    *p = (unsigned char)(ec_max_i(ec_min_i(above, 255), 0) - 128);
}
EC_INLINE void ec_put_q16(int16_t *p, float x, int fmt)
{
    const int whole = (int)(ec_bits(ec_to_q8(x, 12582912.0f, fmt)) - 0x4b400000u);
    *p = (int16_t)ec_max_i(ec_min_i(whole, INT16_MAX), INT16_MIN);
}

EC_INLINE void ec_put_flyte(unsigned char *p, float x, int fmt)
{
    const uint32_t bits = ec_round_bits(ec_bits(x), fmt);
    const int bytes = EC_STORED_BYTES(fmt);
    EC_UNROLL
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(bits >> 8 * (4 - bytes + i));
}
/* Rounds or truncates as ec_stored.h says; not for EC_I8 and EC_I4. */
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
    case EC_F16:
    case EC_F8: ec_put_flyte((unsigned char *)p, v, fmt); break;
    case EC_Q8: ec_put_q8((unsigned char *)p, v, fmt); break;
    case EC_Q16: ec_put_q16((int16_t *)p, v, fmt); break;
    default: ec_store((float *)p, v);
    }
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
