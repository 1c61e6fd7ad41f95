/* Horner's rule on vectors, and how the functions made with it are compiled. */
#ifndef EC_POLY_H
#define EC_POLY_H

/* On scalars a function is long against what calls it, dozens of times over in an unrolled epilogue:
   one copy of it then.  On vectors the calls would spill every accumulator. */
#if EC_VL == 1
#define EC_MATH EC_SHARED
#else
#define EC_MATH EC_INLINE
#endif

/* c[0] x^(n-1) + ... + c[n-1] */
EC_INLINE ec_vec ec_poly(ec_vec x, const float *c, int n)
{
    ec_vec sum = ec_set1(c[0]);
    EC_UNROLL
    for (int i = 1; i < n; i++)
        sum = ec_fma(sum, x, ec_set1(c[i]));
    return sum;
}

#endif
