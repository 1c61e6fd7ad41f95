/* Vectors of EC_BYTES numbers of int8 on RVV.  Included after ec_isa_rvv*.h.  Meanings: see ec_bytes_portable.h. */
#ifndef EC_BYTES_H
#define EC_BYTES_H

#define EC_BYTES EC_VECTOR_BYTES
typedef vint8m1_t ec_bvec EC_FIXED(1);
EC_INLINE ec_bvec ec_bload(const int8_t *p) { return __riscv_vle8_v_i8m1(p, EC_BYTES); }
EC_INLINE void ec_bstore(int8_t *p, ec_bvec v) { __riscv_vse8_v_i8m1(p, v, EC_BYTES); }
EC_INLINE ec_bvec ec_bload_first(const int8_t *p, int n) { return __riscv_vle8_v_i8m1(p, (size_t)n); }
EC_INLINE void ec_bstore_first(int8_t *p, ec_bvec v, int n) { __riscv_vse8_v_i8m1(p, v, (size_t)n); }
EC_INLINE ec_bvec ec_bmax(ec_bvec a, ec_bvec b) { return __riscv_vmax_vv_i8m1(a, b, EC_BYTES); }
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b)
{
    const vint16m1_t x = __riscv_vreinterpret_v_i8m1_i16m1(a), y = __riscv_vreinterpret_v_i8m1_i16m1(b);
    return __riscv_vreinterpret_v_i16m1_i8m1(__riscv_vmax_vv_i16m1(x, y, EC_BYTES / 2));
}

/* Each lane loads its own. */
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
    return __riscv_vluxei8_v_i8m1(table->bytes, __riscv_vreinterpret_v_i8m1_u8m1(x), EC_BYTES);
}

#endif
