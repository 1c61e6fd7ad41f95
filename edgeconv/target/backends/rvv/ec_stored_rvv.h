/* Loads and stores of stored numbers on RVV, of as many elements as are asked for.  Meanings: see
   ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

/* Assembly takes vectors whose length is not fixed. */
EC_INLINE ec_vec ec_through_assembly(vfloat32m1_t v)
{
    __asm__("" : "+vr"(v));
    return v;
}
#define EC_ROUNDED_VECTOR(product) ((product) = ec_through_assembly(product))
#include "ec_stored.h"

/* Elements of one byte or two become lanes; beyond n these are anything. */
EC_INLINE vuint32m1_t ec_wide_u8(const void *p, size_t n)
{
    return __riscv_vzext_vf4_u32m1(__riscv_vle8_v_u8mf4(p, n), EC_VL);
}
EC_INLINE vuint32m1_t ec_wide_u16(const void *p, size_t n)
{
    return __riscv_vzext_vf2_u32m1(__riscv_vle16_v_u16mf2(p, n), EC_VL);
}
EC_INLINE vint32m1_t ec_wide_s8(const void *p, size_t n)
{
    return __riscv_vsext_vf4_i32m1(__riscv_vle8_v_i8mf4(p, n), EC_VL);
}
EC_INLINE vint32m1_t ec_wide_s16(const void *p, size_t n)
{
    return __riscv_vsext_vf2_i32m1(__riscv_vle16_v_i16mf2(p, n), EC_VL);
}
EC_INLINE ec_vec ec_to_real(vint32m1_t v) { return __riscv_vfcvt_f_x_v_f32m1(v, EC_VL); }
EC_INLINE vuint8mf4_t ec_narrow_u8(vuint32m1_t v, size_t shift)
{
    return __riscv_vncvt_x_x_w_u8mf4(__riscv_vnsrl_wx_u16mf2(v, shift, EC_VL), EC_VL);
}

/* Bytes that follow each other go to as many vectors by turns. */
EC_INLINE vuint32m1_t ec_load_flyte24(const void *p, size_t n)
{
    const vuint8mf4x3_t bytes = __riscv_vlseg3e8_v_u8mf4x3(p, n);
    const vuint32m1_t low = __riscv_vzext_vf4_u32m1(__riscv_vget_v_u8mf4x3_u8mf4(bytes, 0), EC_VL);
    const vuint32m1_t middle = __riscv_vzext_vf4_u32m1(__riscv_vget_v_u8mf4x3_u8mf4(bytes, 1), EC_VL);
    const vuint32m1_t high = __riscv_vzext_vf4_u32m1(__riscv_vget_v_u8mf4x3_u8mf4(bytes, 2), EC_VL);
    const vuint32m1_t upper = __riscv_vor_vv_u32m1(__riscv_vsll_vx_u32m1(middle, 16, EC_VL),
                                                   __riscv_vsll_vx_u32m1(high, 24, EC_VL), EC_VL);
    return __riscv_vor_vv_u32m1(__riscv_vsll_vx_u32m1(low, 8, EC_VL), upper, EC_VL);
}
EC_INLINE void ec_store_flyte24(void *p, vuint32m1_t bits, size_t n)
{
    const vuint8mf4_t high = ec_narrow_u8(__riscv_vsrl_vx_u32m1(bits, 24, EC_VL), 0);
    const vuint8mf4x3_t bytes = __riscv_vcreate_v_u8mf4x3(ec_narrow_u8(bits, 8), ec_narrow_u8(bits, 16), high);
    __riscv_vsseg3e8_v_u8mf4x3(p, bytes, n);
}

/* Two elements in a byte, the first in its lower half: lanes of 16 bits have the one in the upper half of their
   lower byte, the other in that of their upper one. */
EC_INLINE ec_vec ec_load_int4(const void *p, size_t n)
{
    const vuint8mf8_t bytes = __riscv_vle8_v_u8mf8(p, (n + 1) / 2);
    const vuint16mf4_t both = __riscv_vzext_vf2_u16mf4(bytes, EC_VL / 2);
    const vuint16mf4_t lower = __riscv_vsll_vx_u16mf4(__riscv_vand_vx_u16mf4(both, 15, EC_VL / 2), 4, EC_VL / 2);
    const vuint16mf4_t upper = __riscv_vsll_vx_u16mf4(__riscv_vand_vx_u16mf4(both, 240, EC_VL / 2), 8, EC_VL / 2);
    const vuint8mf4_t each = __riscv_vreinterpret_v_u16mf4_u8mf4(__riscv_vor_vv_u16mf4(lower, upper, EC_VL / 2));
    const vint32m1_t wide = __riscv_vsext_vf4_i32m1(__riscv_vreinterpret_v_u8mf4_i8mf4(each), EC_VL);
    return ec_to_real(__riscv_vsra_vx_i32m1(wide, 4, EC_VL));
}

/* n elements; lanes beyond are anything. */
EC_INLINE ec_vec ec_load_some(const void *p, size_t n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return ec_as_vec(ec_load_flyte24(p, n));
    case EC_F16: return ec_as_vec(__riscv_vsll_vx_u32m1(ec_wide_u16(p, n), 16, EC_VL));
    case EC_F8: return ec_as_vec(__riscv_vsll_vx_u32m1(ec_wide_u8(p, n), 24, EC_VL));
    case EC_I8: return ec_to_real(ec_wide_s8(p, n));
    case EC_I4: return ec_load_int4(p, n);
    case EC_Q8: return ec_from_q8(ec_to_real(ec_wide_s8(p, n)), 1.0f, fmt);
    case EC_Q16: return ec_from_q8(ec_to_real(ec_wide_s16(p, n)), 1.0f, fmt);
    default: return __riscv_vle32_v_f32m1(p, n);
    }
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt) { return ec_load_some(p, EC_VL, fmt); }
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    return __riscv_vmv_v_v_f32m1_tu(ec_set1(0.0f), ec_load_some(p, (size_t)n, fmt), (size_t)n);
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }

/* As ec_round_bits. */
EC_INLINE vuint32m1_t ec_round_as(ec_vec v, int fmt, int truncate)
{
    const vuint32m1_t bits = ec_as_bits(v), size = __riscv_vand_vx_u32m1(bits, 0x7fffffffu, EC_VL);
    const vuint32m1_t last = __riscv_vsrl_vx_u32m1(bits, 32 - 8 * (size_t)EC_STORED_BYTES(fmt), EC_VL);
    const vuint32m1_t odd = __riscv_vand_vx_u32m1(last, 1, EC_VL);
    const vuint32m1_t more = __riscv_vadd_vx_u32m1(odd, EC_STORED_HALF(fmt), EC_VL);
    const vbool32_t within = __riscv_vmsleu_vx_u32m1_b32(size, EC_STORED_LARGEST(fmt), EC_VL);
    const vuint32m1_t rounded = truncate ? bits : __riscv_vadd_vv_u32m1_mu(within, bits, bits, more, EC_VL);
    if (fmt == EC_F8)
        return rounded;
    const vbool32_t nan = __riscv_vmsgtu_vx_u32m1_b32(size, EC_INFINITY_BITS, EC_VL);
    return __riscv_vor_vx_u32m1_mu(nan, rounded, rounded, EC_QUIET_BIT, EC_VL);
}
/* The sum of the nearest integer and 1.5 * 2^23 holds it in its lowest bits. */
EC_INLINE vint32m1_t ec_round_quantised(ec_vec v, int fmt, int low, int high)
{
    const vint32m1_t sum = __riscv_vreinterpret_v_f32m1_i32m1(ec_to_q8(v, 12582912.0f, fmt));
    const vint32m1_t whole = __riscv_vsub_vx_i32m1(sum, 0x4b400000, EC_VL);
    return __riscv_vmin_vx_i32m1(__riscv_vmax_vx_i32m1(whole, low, EC_VL), high, EC_VL);
}
EC_INLINE void ec_put_s8(void *p, vint32m1_t v, size_t n)
{
    __riscv_vse8_v_i8mf4(p, __riscv_vncvt_x_x_w_i8mf4(__riscv_vncvt_x_x_w_i16mf2(v, EC_VL), EC_VL), n);
}
EC_INLINE void ec_store_some(void *p, ec_vec v, size_t n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: ec_store_flyte24(p, ec_round_as(v, fmt, EC_TRUNCATE), n); break;
    case EC_F16:
        __riscv_vse16_v_u16mf2(p, __riscv_vnsrl_wx_u16mf2(ec_round_as(v, fmt, EC_TRUNCATE), 16, EC_VL), n);
        break;
    case EC_F8:
        __riscv_vse8_v_u8mf4(p, ec_narrow_u8(__riscv_vsrl_vx_u32m1(ec_round_as(v, fmt, EC_TRUNCATE), 24, EC_VL), 0), n);
        break;
    case EC_Q8: ec_put_s8(p, ec_round_quantised(v, fmt, -128, 127), n); break;
    case EC_Q16:
        __riscv_vse16_v_i16mf2(p, __riscv_vncvt_x_x_w_i16mf2(ec_round_quantised(v, fmt, -32768, 32767), EC_VL), n);
        break;
    default: __riscv_vse32_v_f32m1(p, v, n);
    }
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt) { ec_store_some(p, v, EC_VL, fmt); }
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt) { ec_store_some(p, v, (size_t)n, fmt); }

#endif
