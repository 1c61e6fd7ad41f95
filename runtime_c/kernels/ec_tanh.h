/* tanh within 3 ulp.  Needs ec_expm1.h. */
#ifndef EC_TANH_H
#define EC_TANH_H

/* With t = exp(-2 |x|) - 1: -t / (t + 2), and the sign of x. */
EC_MATH ec_vec ec_tanh(ec_vec x)
{
    const ec_vec magnitude = ec_min(ec_abs(x), ec_set1(10.0f)); /* 1 from 9.02 on */
    const ec_vec t = ec_expm1(ec_mul(magnitude, ec_set1(-2.0f)));
    return ec_copysign(ec_div(t, ec_add(t, ec_set1(2.0f))), x);
}

#endif
