/* Natural logarithm without libm: within 1 ulp, denormals included; log(0) is -infinity, negative
   arguments give NaN, NaN and +infinity come through.  Needs ec_poly.h. */
#ifndef EC_LOG_H
#define EC_LOG_H

/* x = m 2^e, sqrt(1/2) <= m < sqrt(2), f = m - 1: log(x) = e ln(2) + f - f^2 / 2 + f^3 P(f). */
EC_MATH ec_vec ec_log(ec_vec x)
{
    static const float c[] = {-7.63442963e-2f, 1.27615497e-1f,  -1.31601945e-1f, 1.42017618e-1f,
                              -1.66233569e-1f, 2.00012267e-1f, -2.50008225e-1f, 3.33333313e-1f};
    const ec_vec zero = ec_set1(0.0f), one = ec_set1(1.0f);
    const ec_vec least = ec_set1(1.17549435e-38f), infinity = ec_set1(ec_from_bits(0x7f800000u));
    /* denormals: 2^23 x has the exponent field that ec_exponent reads */
    const ec_vec normal = ec_select_lt(x, least, ec_mul(x, ec_set1(8388608.0f)), x);
    const ec_vec m = ec_mantissa(normal), sqrt2 = ec_set1(1.41421354f);
    const ec_vec up = ec_select_lt(sqrt2, m, one, zero);
    const ec_vec e = ec_sub(ec_add(ec_exponent(normal), up),
                            ec_select_lt(x, least, ec_set1(23.0f), zero));
    const ec_vec f = ec_sub(ec_select_lt(sqrt2, m, ec_mul(m, ec_set1(0.5f)), m), one);
    const ec_vec ff = ec_mul(f, f);
    ec_vec y = ec_mul(ec_mul(f, ff), ec_poly(f, c, 8));
    y = ec_fma(e, ec_set1(-2.12194440e-4f), y); /* ln(2) in two parts */
    y = ec_fma(ff, ec_set1(-0.5f), y);
    y = ec_fma(e, ec_set1(0.693359375f), ec_add(f, y));
    const ec_vec nan = ec_set1(ec_from_bits(0x7fc00000u));
    const ec_vec not_positive = ec_select_lt(x, zero, nan, ec_sub(x, infinity));
    return ec_select_lt(zero, x, ec_select_lt(x, infinity, y, x), not_positive);
}

#endif
