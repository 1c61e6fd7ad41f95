/* Vectors of EC_VL integers in plain C, where EC_VL is 1, and what each function means elsewhere.

   ec_ireal: to float32, rounded beyond 2^24.  ec_imul_high: floor(a * b / 2^32), lane by lane; ec_imul,
   ec_itimes, ec_iadd and ec_isub modulo 2^32.  ec_ishift_right: arithmetic, and likewise
   ec_ishift_right_by, lane by lane, by 0 to 31.  ec_ibetween: not below low, not above high.  ec_iload_s8 and
   ec_istore_s8: the first n lanes from and to bytes, which they fit; ec_iload_s16: from int16.
   ec_istore_s8_four: four vectors, brought between low and high of int8; of every 16 bytes (fewer
   where EC_VL is) the first quarter is of v[0], the second of v[1], and so on.  ec_iload_s8_run and
   ec_istore_s8_run: four vectors from and to bytes, one behind the other; what is stored is brought between
   low and high of int8.

   What an ISA may have besides, for tiles whose sums become bytes in registers:

   EC_LOADS_TWO: ec_iload_two, two vectors side by side.
   EC_NARROWS: ec_nvec, 2 * EC_VL numbers of int16, those of two vectors behind each other, each bounded to int16.
   ec_narrow(a, b): as they are; ec_nshift_right: floor(v / 2^bits); ec_nscaled: floor((high word of the product with
   a multiplier + offset) / 2^right), the offset prepared for that right by ec_noffset_of; ec_nscaled_each: with one of
   each lane.  ec_nwiden: the first vector
   or the second.  ec_nbetween: as ec_ibetween.  ec_nload_s8, ec_nstore_s8: the first n lanes from and to bytes;
   ec_nload_s8_rows, ec_nstore_s8_rows: the first n of each half, so far apart; ec_nstore_s8_two: all of two.  What is
   stored is brought between low and high of int8.  ec_iset1_here, ec_nset1_here: a number in all lanes, made where it
   stands. */
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
