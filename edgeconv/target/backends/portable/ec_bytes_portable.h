/* Vectors of EC_BYTES numbers of int8 in plain C, where EC_BYTES is 1, and what each function means elsewhere.

   ec_bload, ec_bstore: from and to any address; ec_bload_first, ec_bstore_first: 0 < n lanes alone.  ec_bmax: the larger ones, lane by lane;
   ec_bmax_s16: of int16, where a vector has more bytes than one.  ec_btable_of: what
   ec_blookup wants of 256 bytes, which it may go on reading; ec_blookup: of every lane x the byte numbered
   (uint8_t)x. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 1
typedef int8_t ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return *p; }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { *p = v; }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return a > b ? a : b; }

typedef struct ec_btable {
    const int8_t *bytes;
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    const ec_btable table = {bytes};
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x) { return table->bytes[(uint8_t)x]; }

#include "ec_bytes_first.h"

#endif
