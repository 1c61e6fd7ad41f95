/* Vectors of EC_VL integers on RVV.  Included after ec_isa_rvv*.h.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef vint32m1_t ec_ivec EC_FIXED(1);

EC_INLINE ec_ivec ec_iset1(int32_t x) { return __riscv_vmv_v_x_i32m1(x, EC_VL); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return __riscv_vle32_v_i32m1(p, EC_VL); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { __riscv_vse32_v_i32m1(p, v, EC_VL); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return __riscv_vfcvt_f_x_v_f32m1(v, EC_VL); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return __riscv_vmulh_vv_i32m1(a, b, EC_VL); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return __riscv_vmul_vv_i32m1(a, b, EC_VL); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return __riscv_vadd_vv_i32m1(a, b, EC_VL); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return __riscv_vsub_vv_i32m1(a, b, EC_VL); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return __riscv_vand_vv_i32m1(a, b, EC_VL); }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return __riscv_vmul_vx_i32m1(v, factor, EC_VL); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return __riscv_vsra_vx_i32m1(a, (size_t)bits, EC_VL); }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits)
{
    return __riscv_vsra_vv_i32m1(a, __riscv_vreinterpret_v_i32m1_u32m1(bits), EC_VL);
}
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return __riscv_vmin_vx_i32m1(__riscv_vmax_vx_i32m1(a, low, EC_VL), high, EC_VL);
}
/* Lanes beyond n are those of no element. */
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    return __riscv_vsext_vf4_i32m1(__riscv_vle8_v_i8mf4(p, (size_t)n), EC_VL);
}
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    return __riscv_vsext_vf2_i32m1(__riscv_vle16_v_i16mf2(p, (size_t)n), EC_VL);
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    const vint16mf2_t halves = __riscv_vncvt_x_x_w_i16mf2(v, EC_VL);
    __riscv_vse8_v_i8mf4(p, __riscv_vncvt_x_x_w_i8mf4(halves, EC_VL), (size_t)n);
}

/* Vector j of a group of registers, and a group of four. */
EC_INLINE ec_ivec ec_iof_m2(vint32m2_t of, int j)
{
    return j ? __riscv_vget_v_i32m2_i32m1(of, 1) : __riscv_vget_v_i32m2_i32m1(of, 0);
}
EC_INLINE ec_ivec ec_iof_m4(vint32m4_t of, int j)
{
    return ec_iof_m2(j < 2 ? __riscv_vget_v_i32m4_i32m2(of, 0) : __riscv_vget_v_i32m4_i32m2(of, 1), j % 2);
}
EC_INLINE vint32m4_t ec_ijoin(const ec_ivec v[4])
{
    return __riscv_vcreate_v_i32m1_i32m4(v[0], v[1], v[2], v[3]);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    const vint32m4_t within =
        __riscv_vmin_vx_i32m4(__riscv_vmax_vx_i32m4(ec_ijoin(v), low, 4 * EC_VL), high, 4 * EC_VL);
    const vint16m2_t halves = __riscv_vncvt_x_x_w_i16m2(within, 4 * EC_VL);
    __riscv_vse8_v_i8m1(p, __riscv_vncvt_x_x_w_i8m1(halves, 4 * EC_VL), 4 * EC_VL);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    const vint32m4_t all = __riscv_vsext_vf4_i32m4(__riscv_vle8_v_i8m1(p, 4 * EC_VL), 4 * EC_VL);
    EC_UNROLL
    for (int j = 0; j < 4; j++)
        v[j] = ec_iof_m4(all, j);
}
/* Four vectors are one group, whose lanes lie one behind the other. */
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    ec_istore_s8_run(p, v, low, high);
}

#endif
