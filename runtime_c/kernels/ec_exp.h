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

#ifndef EC_SCALE /* no instruction of the ISA does it */
/* a 2^n for a whole n: by two factors of about 2^(n/2), as 2^n alone may leave the range of the
   exponent. */
EC_INLINE ec_vec ec_scale(ec_vec a, ec_vec n)
{
    const ec_vec half = ec_round(ec_mul(n, ec_set1(0.5f)));
    return ec_mul(ec_mul(a, ec_exp2i(half)), ec_exp2i(ec_sub(n, half)));
}
#endif

#ifndef EC_EXP /* no table in a register */
/* Of -104 <= x <= 89: 2^n exp(r), exp(r) by the polynomial 1 + r + c r^2 ... of degree 6 that is
   nearest to it for |r| <= ln(2) / 2, relative error 3.7e-9. */
EC_INLINE ec_vec ec_exp_within(ec_vec x)
{
    static const float c[] = {0.001381454f, 0.008368745f, 0.04166839f, 0.16666521f,
                              0.49999994f,  1.0f,         1.0f};
    ec_vec n;
    const ec_vec r = ec_exp_reduce(x, &n);
    return ec_scale(ec_poly(r, c, 7), n);
}
/* exp(-x); some number where x is NaN. */
EC_INLINE ec_vec ec_exp_opposite(ec_vec x)
{
    return ec_exp_within(ec_min(ec_max(ec_sub(ec_set1(0.0f), x), ec_set1(-104.0f)), ec_set1(89.0f)));
}
#endif

EC_MATH ec_vec ec_exp(ec_vec x)
{
    return ec_exp_within(ec_min(ec_max(x, ec_set1(-104.0f)), ec_set1(89.0f)));
}
/* exp(-|x|) */
EC_MATH ec_vec ec_exp_falling(ec_vec x)
{
    return ec_exp_within(ec_max(ec_copysign(x, ec_set1(-1.0f)), ec_set1(-104.0f)));
}

#endif
