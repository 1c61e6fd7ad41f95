/* Vectors of EC_BYTES numbers of int8: NEON, 64 bits or 32.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES 16
typedef int8x16_t ec_bvec;
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return vld1q_s8(p); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { vst1q_s8(p, v); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return vmaxq_s8(a, b); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b)
{
    return vreinterpretq_s8_s16(vmaxq_s16(vreinterpretq_s16_s8(a), vreinterpretq_s16_s8(b)));
}

#ifdef __aarch64__
/* A look-up of 64 bytes leaves those of others as they are. */
typedef struct ec_btable {
    int8x16x4_t quarter[4];
} ec_btable;
EC_INLINE ec_btable ec_btable_of(const int8_t *bytes)
{
    ec_btable table;
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        table.quarter[i] = vld1q_s8_x4(bytes + 64 * i);
    return table;
}
EC_INLINE ec_bvec ec_blookup(const ec_btable *table, ec_bvec x)
{
    const uint8x16_t at = vreinterpretq_u8_s8(x);
    int8x16_t found = vqtbl4q_s8(table->quarter[0], at);
    found = vqtbx4q_s8(found, table->quarter[1], vsubq_u8(at, vdupq_n_u8(64)));
    found = vqtbx4q_s8(found, table->quarter[2], vsubq_u8(at, vdupq_n_u8(128)));
    return vqtbx4q_s8(found, table->quarter[3], vsubq_u8(at, vdupq_n_u8(192)));
}
#else
/* A look-up of 32 bytes leaves those of others as they are; all 256 would take every register. */
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
    uint8x16_t at = vreinterpretq_u8_s8(x);
    int8x8_t low = vdup_n_s8(0), high = low;
    EC_UNROLL
    for (int i = 0; i < 8; i++) {
        const int8x16_t first = vld1q_s8(table->bytes + 32 * i), second = vld1q_s8(table->bytes + 32 * i + 16);
        const int8x8x4_t four = {{vget_low_s8(first), vget_high_s8(first), vget_low_s8(second), vget_high_s8(second)}};
        low = vtbx4_s8(low, four, vreinterpret_s8_u8(vget_low_u8(at)));
        high = vtbx4_s8(high, four, vreinterpret_s8_u8(vget_high_u8(at)));
        at = vsubq_u8(at, vdupq_n_u8(32));
    }
    return vcombine_s8(low, high);
}
#endif

#include "ec_bytes_first.h"

#endif
