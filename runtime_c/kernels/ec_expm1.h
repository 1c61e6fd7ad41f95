/* exp(x) - 1 without cancellation, within 2 ulp.  Needs ec_poly.h and ec_exp.h. */
#ifndef EC_EXPM1_H
#define EC_EXPM1_H

/* 2^n (exp(r) - 1) + (2^n - 1), all of it halved so that 2^n stays in range for every result. */
EC_MATH ec_vec ec_expm1(ec_vec x)
{
    static const float c[] = {1.0f / 40320, 1.0f / 5040, 1.0f / 720, 1.0f / 120,
                              1.0f / 24,    1.0f / 6,    0.5f};
    ec_vec n;
    const ec_vec clipped = ec_min(ec_max(x, ec_set1(-18.0f)), ec_set1(89.0f));
    const ec_vec r = ec_exp_reduce(clipped, &n);
    const ec_vec p = ec_fma(ec_mul(r, r), ec_poly(r, c, 7), r);
    const ec_vec scale = ec_exp2i(ec_sub(n, ec_set1(1.0f)));
    const ec_vec y = ec_fma(scale, p, ec_sub(scale, ec_set1(0.5f)));
    return ec_add(y, y);
}

#endif
