/* Loads and stores of stored numbers, lane by lane.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t from, int fmt)
{
    ec_vec v;
    if (fmt == EC_F32)
        return ec_load((const float *)p + from);
    EC_LANES(v[i] = ec_get_at(p, from + i, fmt));
    return v;
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt) { return ec_load_at(p, 0, fmt); }
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }

/* The sum of the nearest integer and 1.5 * 2^23 holds it in its lowest bits. */
EC_INLINE int ec_whole(float sum) { return (int)(ec_bits(sum) - 0x4b400000u); }
EC_INLINE void ec_put_lane(unsigned char *p, float x, float quantised, int fmt)
{
    const int bytes = EC_STORED_BYTES(fmt);
    uint32_t bits = 0;
    (void)quantised; /* in a program without such formats */
    switch (EC_KIND(fmt)) {
    case EC_Q8: *p = (unsigned char)ec_max_i(ec_min_i(ec_whole(quantised), 127), -128); return;
    case EC_Q16: bits = (uint32_t)ec_max_i(ec_min_i(ec_whole(quantised), 32767), -32768) << 16; break;
    default: bits = ec_round_bits(ec_bits(x), fmt);
    }
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(bits >> 8 * (4 - bytes + i));
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    const int scaled = EC_KIND(fmt) == EC_Q8 || EC_KIND(fmt) == EC_Q16;
    const ec_vec sums = scaled ? ec_to_q8(v, 12582912.0f, fmt) : v;
    if (fmt == EC_F32) {
        ec_store_n((float *)p, v, n);
        return;
    }
    EC_LANES(if (i < n) ec_put_lane((unsigned char *)p + i * EC_STORED_BYTES(fmt), v[i], sums[i], fmt));
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    if (fmt == EC_F32)
        ec_store((float *)p, v);
    else
        ec_store_as_n(p, v, EC_VL, fmt);
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    ec_vec v = ec_set1(0.0f);
    EC_LANES(if (i < n) v[i] = ec_get_at(p, i, fmt));
    return v;
}

#endif
