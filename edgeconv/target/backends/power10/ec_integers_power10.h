/* Vectors of EC_VL integers: POWER10.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef __vector int ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return vec_splats(x); }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return vec_xl(0, p); }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { vec_xst(v, 0, p); }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return vec_ctf(v, 0); }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return vec_mulh(a, b); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return a * b; }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return a + b; }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return a - b; }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return a & b; }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return ec_imul(v, ec_iset1(factor)); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return vec_sra(a, vec_splats((unsigned)bits)); }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return vec_sra(a, (__vector unsigned)bits); }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    return vec_min(vec_max(a, vec_splats(low)), vec_splats(high));
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    int32_t word = 0;
    memcpy(&word, p, (size_t)n);
    return vec_unpackh(vec_unpackh((__vector signed char)vec_splats(word)));
}
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    int16_t eight[2 * EC_VL] = {0};
    memcpy(eight, p, (size_t)n * 2);
    return vec_unpackh(vec_xl(0, eight));
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    const __vector signed short half = vec_pack(v, v);
    const int32_t word = ((ec_ivec)vec_pack(half, half))[0];
    memcpy(p, &word, (size_t)n);
}
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    __vector signed char bytes = vec_packs(vec_packs(v[0], v[1]), vec_packs(v[2], v[3]));
    if (low > -128)
        bytes = vec_max(bytes, vec_splats((signed char)low));
    if (high < 127)
        bytes = vec_min(bytes, vec_splats((signed char)high));
    vec_xst(bytes, 0, p);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    const __vector signed char bytes = vec_xl(0, (const signed char *)p);
    const __vector signed short first = vec_unpackh(bytes), second = vec_unpackl(bytes);
    v[0] = vec_unpackh(first), v[1] = vec_unpackl(first);
    v[2] = vec_unpackh(second), v[3] = vec_unpackl(second);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    ec_istore_s8_four(p, v, low, high);
}

/* Four vectors, bounded, as bytes: `nv` of a row side by side, rows `row` bytes apart. */
#define EC_STORES_ROWS
EC_INLINE void ec_istore_s8_rows(int8_t *p, ptrdiff_t row, const ec_ivec *v, int nv, int low, int high)
{
    __vector signed char q = vec_packs(vec_packs(v[0], v[1]), vec_packs(v[2], v[3]));
    if (low > -128)
        q = vec_max(q, vec_splats((signed char)low));
    if (high < 127)
        q = vec_min(q, vec_splats((signed char)high));
    EC_UNROLL
    for (int i = 0; i < 4 / nv; i++) {
        if (nv == 4)
            vec_xst(q, 0, p);
        else if (nv == 2)
            memcpy(p + i * row, (const char *)&q + 8 * i, 8);
        else
            memcpy(p + i * row, (const char *)&q + 4 * i, 4);
    }
}

#endif
