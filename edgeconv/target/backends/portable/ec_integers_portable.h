/* Vectors of EC_VL integers in plain C, where EC_VL is 1, and what each function means elsewhere.

   ec_ireal: to float32, rounded beyond 2^24.  ec_imul_high: floor(a * b / 2^32), lane by lane; ec_imul,
   ec_itimes, ec_iadd and ec_isub modulo 2^32.  ec_ishift_right: arithmetic, and likewise
   ec_ishift_right_by, lane by lane, by 0 to 31.  ec_ibetween: not below low, not above high.  ec_iload_s8 and
   ec_istore_s8: the first n lanes from and to bytes, which they fit; ec_iload_s16: from int16.
   ec_istore_s8_four: four vectors, brought between low and high of int8; of every 16 bytes (fewer
   where EC_VL is) the first quarter is of v[0], the second of v[1], and so on.  ec_iload_s8_run and
   ec_istore_s8_run: four vectors from and to bytes, one behind the other; what is stored is brought between
   low and high of int8. */
#ifndef EC_INTEGERS_H
#define EC_INTEGERS_H

typedef int32_t ec_ivec;
EC_INLINE ec_ivec ec_iset1(int32_t x) { return x; }
EC_INLINE ec_ivec ec_iload(const int32_t *p) { return *p; }
EC_INLINE void ec_istore(int32_t *p, ec_ivec v) { *p = v; }
EC_INLINE ec_vec ec_ireal(ec_ivec v) { return (float)v; }
EC_INLINE ec_ivec ec_imul_high(ec_ivec a, ec_ivec b) { return ec_high_word(a, b); }
EC_INLINE ec_ivec ec_imul(ec_ivec a, ec_ivec b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
EC_INLINE ec_ivec ec_iadd(ec_ivec a, ec_ivec b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
EC_INLINE ec_ivec ec_isub(ec_ivec a, ec_ivec b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
EC_INLINE ec_ivec ec_iand(ec_ivec a, ec_ivec b) { return a & b; }
EC_INLINE ec_ivec ec_itimes(int factor, ec_ivec v) { return ec_imul(v, ec_iset1(factor)); }
EC_INLINE ec_ivec ec_ishift_right(ec_ivec a, int bits) { return a >> bits; }
EC_INLINE ec_ivec ec_ishift_right_by(ec_ivec a, ec_ivec bits) { return a >> bits; }
EC_INLINE ec_ivec ec_ibetween(ec_ivec a, int low, int high) { return ec_min_i(ec_max_i(a, low), high); }
EC_INLINE ec_ivec ec_iload_s8(const int8_t *p, int n) { return n ? *p : 0; }
EC_INLINE ec_ivec ec_iload_s16(const int16_t *p, int n) { return n ? *p : 0; }
EC_INLINE void ec_istore_s8(int8_t *p, ec_ivec v, int n)
{
    if (n)
        *p = (int8_t)v;
}
EC_INLINE void ec_istore_s8_four(int8_t *p, const ec_ivec v[4], int low, int high)
{
    for (int i = 0; i < 4; i++)
        p[i] = (int8_t)ec_ibetween(v[i], low, high);
}
EC_INLINE void ec_iload_s8_run(const int8_t *p, ec_ivec v[4])
{
    for (int i = 0; i < 4; i++)
        v[i] = p[i];
}
EC_INLINE void ec_istore_s8_run(int8_t *p, const ec_ivec v[4], int low, int high)
{
    ec_istore_s8_four(p, v, low, high);
}

#endif
