/* erf within 1.5 ulp, and GELU.  Needs ec_exp.h. */
#ifndef EC_ERF_H
#define EC_ERF_H

/* Two polynomials: (erf(x) / x - 1)(x^2) below 1, log(1 - erf(x)) from there to 4, where erf is 1. */
EC_MATH ec_vec ec_erf(ec_vec x)
{
    static const float small[] = {7.85385782e-5f,  -8.01019254e-4f, 5.18832775e-3f, -2.68538110e-2f,
                                  1.12835854e-1f, -3.76126260e-1f, 1.28379166e-1f};
    static const float large[] = {-2.16976587e-5f, 4.41472919e-4f,  -4.20528604e-3f, 2.52103414e-2f,
                                  -1.08422101e-1f, -6.33216381e-1f, -1.12958026e0f,  1.88467791e-4f};
    const ec_vec one = ec_set1(1.0f);
    const ec_vec t = ec_min(ec_abs(x), ec_set1(4.0f));
    const ec_vec near = ec_fma(t, ec_poly(ec_mul(t, t), small, 7), t);
    const ec_vec far = ec_sub(one, ec_exp(ec_poly(t, large, 8)));
    return ec_copysign(ec_select_lt(t, one, near, far), x);
}

/* x / 2 (1 + erf(x / sqrt(2))); the sum cancels for negative x, so its error, 2^-23 |x|, is relative to x. */
EC_MATH ec_vec ec_gelu(ec_vec x)
{
    const ec_vec half = ec_mul(x, ec_set1(0.5f));
    return ec_fma(half, ec_erf(ec_mul(x, ec_set1(0.707106781f))), half);
}

#endif
