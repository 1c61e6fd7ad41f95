/* exp without libm: within 1.5 ulp, results below the normal range included; overflows to infinity,
   underflows to zero, NaN comes through.  Needs ec_poly.h. */
#ifndef EC_EXP_H
#define EC_EXP_H

/* x = n ln(2) + r, |r| <= ln(2) / 2.  ln(2) in two parts, the first short enough that its product
   with n is exact. */
EC_INLINE ec_vec ec_exp_reduce(ec_vec x, ec_vec *n)
{
    *n = ec_round(ec_mul(x, ec_set1(1.44269504f)));
    return ec_fma(*n, ec_set1(2.12194440e-4f), ec_fma(*n, ec_set1(-0.693359375f), x));
}

/* 2^n exp(r), exp(r) by its Taylor polynomial of degree 7. */
EC_MATH ec_vec ec_exp(ec_vec x)
{
    static const float c[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24,
                              1.0f / 6,    0.5f,       1.0f,       1.0f};
    ec_vec n;
    const ec_vec clipped = ec_min(ec_max(x, ec_set1(-104.0f)), ec_set1(89.0f));
    const ec_vec r = ec_exp_reduce(clipped, &n);
    /* two factors of about 2^(n/2): 2^n alone may leave the range of the exponent */
    const ec_vec half = ec_round(ec_mul(n, ec_set1(0.5f)));
    return ec_mul(ec_mul(ec_poly(r, c, 8), ec_exp2i(half)), ec_exp2i(ec_sub(n, half)));
}

#endif
