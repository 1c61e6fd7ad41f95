/* Loads and stores of stored numbers on AArch64 NEON.  Meanings: see ec_stored_portable.h.
   An index beyond the table looks up a zero. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"
#include "ec_stored_round_neon.h"

/* Four bytes, each the highest of its lane.  Assembly: of intrinsics GCC makes three instructions. */
EC_INLINE uint32x4_t ec_load_highest(const void *p)
{
    const uint8x16_t spread = {16, 16, 16, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16, 16, 16, 3};
    uint8x16_t bytes;
    __asm__("ldr %s0, %1" : "=w"(bytes) : "m"(*(const ec_word *)p));
    return vreinterpretq_u32_u8(vqtbl1q_u8(bytes, spread));
}

EC_INLINE uint8x16_t ec_load_flyte24(const uint8_t *p)
{
    const uint8x16_t spread = {16, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11};
    const uint8x16_t eight = vcombine_u8(vld1_u8(p), vdup_n_u8(0));
    uint32_t four;
    __builtin_memcpy(&four, p + 8, sizeof four);
    const uint32x4_t twelve = vsetq_lane_u32(four, vreinterpretq_u32_u8(eight), 2);
    return vqtbl1q_u8(vreinterpretq_u8_u32(twelve), spread);
}
/* From any address; repeated in a vector it is one load, ld1r. */
EC_INLINE uint16_t ec_two_bytes(const void *p)
{
    uint16_t value;
    __builtin_memcpy(&value, p, sizeof value);
    return value;
}
EC_INLINE uint16x8_t ec_dup_two_bytes(const void *p) { return vdupq_n_u16(ec_two_bytes(p)); }
#include "ec_stored_load_neon.h"

EC_INLINE uint32x4_t ec_set1_highest(const void *p)
{
    return vshlq_n_u32(vreinterpretq_u32_u8(vld1q_dup_u8((const uint8_t *)p)), 24);
}
EC_INLINE ec_vec ec_set1_q8(const void *p, int fmt)
{
    return ec_from_q8(vcvtq_n_f32_s32(vreinterpretq_s32_u32(ec_set1_highest(p)), 24), 1.0f, fmt);
}
EC_INLINE ec_vec ec_set1_q16(const void *p, int fmt)
{
    return ec_from_q8(vcvtq_f32_s32(vmovl_s16(vreinterpret_s16_u16(vdup_n_u16(ec_two_bytes(p))))), 1.0f, fmt);
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
    case EC_I8:
    case EC_I4: return ec_set1(ec_get_as(p, fmt));
    case EC_F16: /* shifted by the widening itself */
        return vreinterpretq_f32_u32(vshll_n_u16(vdup_n_u16(ec_two_bytes(p)), 16));
    case EC_F8: return vreinterpretq_f32_u32(ec_set1_highest(p));
    case EC_Q8: return ec_set1_q8(p, fmt);
    case EC_Q16: return ec_set1_q16(p, fmt);
    default: return vld1q_dup_f32((const float *)p);
    }
}
EC_INLINE void ec_store_flyte24(uint8_t *p, ec_vec v)
{
    const uint8x16_t order = {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 16, 16, 16};
    const uint8x16_t bytes = vreinterpretq_u8_u32(ec_round_as(v, EC_F24, EC_TRUNCATE));
    const uint8x16_t packed = vqtbl1q_u8(bytes, order);
    vst1_u8(p, vget_low_u8(packed));
    const uint32_t four = vgetq_lane_u32(vreinterpretq_u32_u8(packed), 2);
    __builtin_memcpy(p + 8, &four, sizeof four);
}
EC_INLINE void ec_store_highest(uint8_t *p, uint32x4_t rounded)
{
    const uint8x16_t order = {3, 7, 11, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
    const uint8x16_t packed = vqtbl1q_u8(vreinterpretq_u8_u32(rounded), order);
    const uint32_t four = vgetq_lane_u32(vreinterpretq_u32_u8(packed), 0);
    __builtin_memcpy(p, &four, sizeof four);
}
#include "ec_stored_store_neon.h"

#endif
