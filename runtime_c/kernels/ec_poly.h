/* Horner's rule on vectors. */
#ifndef EC_POLY_H
#define EC_POLY_H

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
