/* Vectors of EC_BYTES numbers of int8: a word of Armv7E-M.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 4
typedef uint32_t ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p)
{
    uint32_t word;
    __builtin_memcpy(&word, p, 4);
    return word;
}
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { __builtin_memcpy(p, &v, 4); }
/* SSUB8 notes which differences are not negative, SEL takes those bytes of a; SSUB16 of both bytes of a half. */
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b)
{
    ec_bvec larger;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(larger) : "r"(a), "r"(b) : "cc");
    return larger;
}
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b)
{
    ec_bvec larger;
    __asm__("ssub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(larger) : "r"(a), "r"(b) : "cc");
    return larger;
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
    const uint8_t *const bytes = (const uint8_t *)table->bytes;
    return bytes[x & 255] | (ec_bvec)bytes[x >> 8 & 255] << 8 | (ec_bvec)bytes[x >> 16 & 255] << 16 |
           (ec_bvec)bytes[x >> 24] << 24;
}

#include "ec_bytes_first.h"

#endif
