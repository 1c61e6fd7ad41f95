/* Loads and stores of stored numbers on 32-bit NEON.  Meanings: see ec_stored_portable.h.
   An index beyond the table looks up a zero; a table lookup gives half a vector. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"
#include "ec_stored_round_neon.h"

/* Four bytes, each the highest of its lane. */
EC_INLINE uint32x4_t ec_load_highest(const void *p)
{
    const uint32x2_t bytes = vld1_dup_u32((const ec_word *)p);
    const uint16x8_t halves = vshll_n_u8(vreinterpret_u8_u32(bytes), 8);
    return vshll_n_u16(vget_low_u16(halves), 16);
}
/* The two last elements are loaded with the two last bytes before them. */
EC_INLINE uint8x16_t ec_load_flyte24(const uint8_t *p)
{
    const uint8x8_t first = {8, 0, 1, 2, 8, 3, 4, 5}, last = {8, 2, 3, 4, 8, 5, 6, 7};
    return vcombine_u8(vtbl1_u8(vld1_u8(p), first), vtbl1_u8(vld1_u8(p + 4), last));
}

EC_INLINE uint16x8_t ec_dup_two_bytes(const void *p) { return vld1q_dup_u16((const ec_half *)p); }
#include "ec_stored_load_neon.h"

EC_INLINE ec_vec ec_set1_q8(const void *p, int fmt)
{
    const int32x4_t bytes = vreinterpretq_s32_u8(vld1q_dup_u8((const uint8_t *)p));
    return ec_from_q8(vcvtq_n_f32_s32(vshlq_n_s32(bytes, 24), 24), 1.0f, fmt);
}
EC_INLINE ec_vec ec_set1_q16(const void *p, int fmt)
{
    const int16x4_t halves = vreinterpret_s16_u16(vld1_dup_u16((const ec_half *)p));
    return ec_from_q8(vcvtq_f32_s32(vmovl_s16(halves)), 1.0f, fmt);
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
    case EC_F16:
    case EC_F8:
    case EC_I8:
    case EC_I4: return ec_set1(ec_get_as(p, fmt));
    case EC_Q8: return ec_set1_q8(p, fmt);
    case EC_Q16: return ec_set1_q16(p, fmt);
    default: return vld1q_dup_f32((const float *)p);
    }
}
EC_INLINE uint8x8x2_t ec_bytes_of(uint32x4_t rounded)
{
    const uint8x16_t bytes = vreinterpretq_u8_u32(rounded);
    const uint8x8x2_t table = {{vget_low_u8(bytes), vget_high_u8(bytes)}};
    return table;
}
EC_INLINE void ec_store_flyte24(uint8_t *p, ec_vec v)
{
    const uint8x8_t first = {1, 2, 3, 5, 6, 7, 9, 10}, last = {3, 5, 6, 7, 8, 8, 8, 8};
    const uint8x8x2_t table = ec_bytes_of(ec_round_as(v, EC_F24, EC_TRUNCATE));
    const uint8x8_t end = vtbl1_u8(table.val[1], last);
    vst1_u8(p, vtbl2_u8(table, first));
    vst1_lane_u32((ec_word *)(void *)(p + 8), vreinterpret_u32_u8(end), 0);
}
EC_INLINE void ec_store_highest(uint8_t *p, uint32x4_t rounded)
{
    const uint8x8_t order = {3, 7, 11, 15, 16, 16, 16, 16};
    const uint8x8_t four = vtbl2_u8(ec_bytes_of(rounded), order);
    vst1_lane_u32((ec_word *)(void *)p, vreinterpret_u32_u8(four), 0);
}
#include "ec_stored_store_neon.h"

#endif
