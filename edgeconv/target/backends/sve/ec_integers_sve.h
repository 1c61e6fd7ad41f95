/* Vectors of EC_VL integers on SVE.  Included after ec_isa_sve*.h.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef svint32_t ec_ivec EC_FIXED;

EC_INLINE ec_ivec ec_iset1(int32_t x) { return svdup_n_s32(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return svld1_s32(ec_all(), p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { svst1_s32(ec_all(), p, v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return svcvt_f32_s32_x(ec_all(), v); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return svmulh_s32_x(ec_all(), a, b); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return svmul_s32_x(ec_all(), a, b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return svadd_s32_x(ec_all(), a, b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return svsub_s32_x(ec_all(), a, b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return svand_s32_x(ec_all(), a, b); }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return svmul_n_s32_x(ec_all(), v, factor); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits)
{
    return svasr_s32_x(ec_all(), a, svdup_n_u32((uint32_t)bits));
}
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits)
{
    return svasr_s32_x(ec_all(), a, svreinterpret_u32_s32(bits));
}
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return svmin_n_s32_x(ec_all(), svmax_n_s32_x(ec_all(), a, low), high);
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n) { return svld1sb_s32(ec_first(n), p); }
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n) { return svld1sh_s32(ec_first(n), p); }
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n) { svst1b_s32(ec_first(n), p, v); }

/* Halves of two vectors, then bytes of four, one behind the other. */
EC_INLINE svint8_t ec_bytes_of_two(ec_ivec a, ec_ivec b)
{
    return svreinterpret_s8_s16(svuzp1_s16(svreinterpret_s16_s32(a), svreinterpret_s16_s32(b)));
}
EC_INLINE svint8_t ec_bytes_of_four(const ec_ivec v[4], int low, int high)
{
    return svuzp1_s8(ec_bytes_of_two(ec_ibetween(v[0], low, high), ec_ibetween(v[1], low, high)),
                     ec_bytes_of_two(ec_ibetween(v[2], low, high), ec_ibetween(v[3], low, high)));
}
/* Byte i of these is of vector i / 4 % 4, lane i / 16 * 4 + i % 4. */
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    const svbool_t all = svptrue_b8();
    const svuint8_t i = svindex_u8(0, 1);
    const svuint8_t vector = svand_n_u8_x(all, svlsr_n_u8_x(all, i, 2), 3);
    const svuint8_t quarter = svlsl_n_u8_x(all, svlsr_n_u8_x(all, i, 4), 2);
    const svuint8_t lane = svadd_u8_x(all, quarter, svand_n_u8_x(all, i, 3));
    const svuint8_t from = svmla_n_u8_x(all, lane, vector, EC_VL);
    svst1_s8(all, p, svtbl_s8(ec_bytes_of_four(v, low, high), from));
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    EC_UNROLL
    for (int j = 0; j < 4; j++)
        v[j] = svld1sb_s32(ec_all(), p + j * EC_VL);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    svst1_s8(svptrue_b8(), p, ec_bytes_of_four(v, low, high));
}

#endif
