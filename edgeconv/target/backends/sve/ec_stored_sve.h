/* Loads and stores of stored numbers on SVE, under predicates.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* The bytes of n flyte24, or of as many as a vector has. */
EC_INLINE svbool_t ec_bytes_flyte24(int n) { return svwhilelt_b8_s32(0, 3 * ec_min_i(n, EC_VL)); }

/* Three bytes of every lane, side by side, become its upper ones: what no byte is for reads as zero. */
EC_INLINE svuint32_t ec_unpack_flyte24(svuint8_t packed)
{
    const svuint8_t i = svindex_u8(0, 1), byte = svand_n_u8_x(svptrue_b8(), i, 3);
    const svuint8_t before = svsub_u8_x(svptrue_b8(), i, svlsr_n_u8_x(svptrue_b8(), i, 2));
    const svuint8_t from = svsub_n_u8_x(svptrue_b8(), before, 1);
    const svbool_t lowest = svcmpeq_n_u8(svptrue_b8(), byte, 0);
    return svreinterpret_u32_u8(svtbl_u8(packed, svsel_u8(lowest, svdup_n_u8(255), from)));
}
EC_INLINE svuint8_t ec_join_flyte24(svuint32_t bits)
{
    /* Byte i is of lane i / 3: i + i / 3 + 1; thirds by a product that is exact below 128. */
    const svuint8_t i = svindex_u8(0, 1);
    const svuint8_t lane = svlsr_n_u8_x(svptrue_b8(), svmulh_n_u8_x(svptrue_b8(), i, 171), 1);
    const svuint8_t from = svadd_n_u8_x(svptrue_b8(), svadd_u8_x(svptrue_b8(), i, lane), 1);
    return svtbl_u8(svreinterpret_u8_u32(bits), from);
}

/* Two elements in a byte, the first in its lower half. */
EC_INLINE ec_vec ec_load_int4_n(const void *p, int n)
{
    const svuint32_t lane = svindex_u32(0, 1), of_byte = svlsr_n_u32_x(ec_all(), lane, 1);
    const svuint32_t bytes = svld1ub_gather_u32offset_u32(ec_first(n), (const uint8_t *)p, of_byte);
    const svuint32_t odd = svand_n_u32_x(ec_all(), lane, 1);
    const svuint32_t up = svsub_u32_x(ec_all(), svdup_n_u32(28), svlsl_n_u32_x(ec_all(), odd, 2));
    const svint32_t high = svreinterpret_s32_u32(svlsl_u32_x(ec_all(), bytes, up));
    return svcvt_f32_s32_x(ec_all(), svasr_n_s32_x(ec_all(), high, 28));
}

/* Lanes beyond n are zero. */
EC_INLINE ec_vec ec_load_under(svbool_t lanes, const void *p, int n, int fmt)
{
    (void)n; /* of some */
    switch (EC_KIND(fmt)) {
    case EC_F24: return ec_as_vec(ec_unpack_flyte24(svld1_u8(ec_bytes_flyte24(n), p)));
    case EC_F16: return ec_as_vec(svlsl_n_u32_x(ec_all(), svld1uh_u32(lanes, p), 16));
    case EC_F8: return ec_as_vec(svlsl_n_u32_x(ec_all(), svld1ub_u32(lanes, p), 24));
    case EC_I8: return svcvt_f32_s32_x(ec_all(), svld1sb_s32(lanes, p));
    case EC_I4: return ec_load_int4_n(p, n);
    case EC_Q8: return ec_from_q8(svcvt_f32_s32_x(ec_all(), svld1sb_s32(lanes, p)), 1.0f, fmt);
    case EC_Q16: return ec_from_q8(svcvt_f32_s32_x(ec_all(), svld1sh_s32(lanes, p)), 1.0f, fmt);
    default: return svld1_f32(lanes, p);
    }
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt) { return ec_load_under(ec_all(), p, EC_VL, fmt); }
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    const ec_vec v = ec_load_under(ec_first(n), p, n, fmt);
    if (EC_KIND(fmt) != EC_Q8 && EC_KIND(fmt) != EC_Q16)
        return v;
    return svsel_f32(ec_first(n), v, ec_set1(0.0f)); /* a zero point is subtracted of all lanes */
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }

/* As ec_round_bits. */
EC_INLINE svuint32_t ec_round_as(ec_vec v, int fmt, int truncate)
{
    const svbool_t all = ec_all();
    const svuint32_t bits = ec_as_bits(v), size = svand_n_u32_x(all, bits, 0x7fffffffu);
    const svuint32_t last = svand_n_u32_x(all, bits, EC_STORED_LAST_BIT(fmt));
    const svuint32_t half = svdup_n_u32(EC_STORED_HALF(fmt));
    const svuint32_t more = svadd_n_u32_m(svcmpne_n_u32(all, last, 0), half, 1);
    const svbool_t within = svcmple_n_u32(all, size, EC_STORED_LARGEST(fmt));
    const svuint32_t rounded = truncate ? bits : svadd_u32_m(within, bits, more);
    if (fmt == EC_F8)
        return rounded;
    return svorr_n_u32_m(svcmpgt_n_u32(all, size, EC_INFINITY_BITS), rounded, EC_QUIET_BIT);
}
/* The sum of the nearest integer and 1.5 * 2^23 holds it in its lowest bits. */
EC_INLINE svint32_t ec_round_quantised(ec_vec v, int fmt, int low, int high)
{
    const svint32_t sum = svreinterpret_s32_f32(ec_to_q8(v, 12582912.0f, fmt));
    const svint32_t whole = svsub_n_s32_x(ec_all(), sum, 0x4b400000);
    return svmin_n_s32_x(ec_all(), svmax_n_s32_x(ec_all(), whole, low), high);
}
EC_INLINE void ec_store_under(svbool_t lanes, void *p, ec_vec v, int n, int fmt)
{
    (void)n; /* of some */
    switch (EC_KIND(fmt)) {
    case EC_F24:
        svst1_u8(ec_bytes_flyte24(n), p, ec_join_flyte24(ec_round_as(v, fmt, EC_TRUNCATE)));
        break;
    case EC_F16:
        svst1h_u32(lanes, p, svlsr_n_u32_x(ec_all(), ec_round_as(v, fmt, EC_TRUNCATE), 16));
        break;
    case EC_F8:
        svst1b_u32(lanes, p, svlsr_n_u32_x(ec_all(), ec_round_as(v, fmt, EC_TRUNCATE), 24));
        break;
    case EC_Q8: svst1b_s32(lanes, p, ec_round_quantised(v, fmt, -128, 127)); break;
    case EC_Q16: svst1h_s32(lanes, p, ec_round_quantised(v, fmt, -32768, 32767)); break;
    default: svst1_f32(lanes, p, v);
    }
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt) { ec_store_under(ec_all(), p, v, EC_VL, fmt); }
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    ec_store_under(ec_first(n), p, v, n, fmt);
}

#endif
