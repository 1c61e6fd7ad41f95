/* Vectors of EC_VL integers, in C.  Meanings: see ec_integers_portable.h. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef ec_mask ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x)
{
    ec_ivec v;
    EC_LANES(v[i] = x);
    return v;
}
EC_INLINE ec_ivec ec_iload(const int32_t *p)
{
    ec_ivec v;
    EC_COPY(&v, p, sizeof v);
    return v;
}
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { EC_COPY(p, &v, sizeof v); }
EC_INLINE ec_vec ec_ireal(ec_ivec v)
{
    ec_vec x;
    EC_LANES(x[i] = (float)v[i]);
    return x;
}
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b)
{
    ec_ivec v;
    EC_LANES(v[i] = (int32_t)(((int64_t)a[i] * b[i]) >> 32));
    return v;
}
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return (ec_ivec)((ec_word)a * (ec_word)b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return (ec_ivec)((ec_word)a + (ec_word)b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return (ec_ivec)((ec_word)a - (ec_word)b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return a & b; }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return ec_imul(v, ec_iset1(factor)); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return a >> bits; }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return a >> bits; }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high)
{
    EC_LANES(a[i] = ec_min_i(ec_max_i(a[i], low), high));
    return a;
}
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n)
{
    ec_ivec v = ec_iset1(0);
    EC_LANES(if (i < n) v[i] = p[i]);
    return v;
}
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n)
{
    ec_ivec v = ec_iset1(0);
    EC_LANES(if (i < n) v[i] = p[i]);
    return v;
}
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n) { EC_LANES(if (i < n) p[i] = (int8_t)v[i]); }
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    const int each = EC_VL < 4 ? EC_VL : 4; /* of a vector, in sixteen bytes */
    for (int at = 0; at < EC_VL; at++)
        for (int j = 0; j < 4; j++)
            p[at / each * 4 * each + j * each + at % each] =
                (int8_t)ec_min_i(ec_max_i(v[j][at], low), high);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    for (int j = 0; j < 4; j++)
        v[j] = ec_iload_s8(p + j * EC_VL, EC_VL);
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    for (int j = 0; j < 4; j++)
        ec_istore_s8(p + j * EC_VL, ec_ibetween(v[j], low, high), EC_VL);
}

#endif
