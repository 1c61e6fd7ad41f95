/* 1 / (1 + exp(-x)) within 2.5 ulp, results below the normal range included.  Needs ec_exp.h. */
#ifndef EC_SIGMOID_H
#define EC_SIGMOID_H

/* z / (1 + z), z = exp(x) of an x below which 1 + z is z and the quotient 1: no comparison with 0. */
EC_MATH ec_vec ec_sigmoid(ec_vec x)
{
    const ec_vec z = ec_exp_within(ec_min(ec_max(x, ec_set1(-104.0f)), ec_set1(88.0f)));
    return ec_div(z, ec_add(z, ec_set1(1.0f)));
}

/* x / (1 + exp(-x)), within 2.5 ulp from x = -88.7 on; below, where exp overflows, 0 in place of what is
   less than 3e-37. */
EC_MATH ec_vec ec_silu(ec_vec x)
{
    return ec_div(x, ec_add(ec_exp_opposite(x), ec_set1(1.0f)));
}

/* x / 2 (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
EC_MATH ec_vec ec_gelu_tanh(ec_vec x)
{
    const ec_vec factor = ec_fma(ec_mul(x, x), ec_set1(7.13548163e-2f), ec_set1(1.59576912f));
    return ec_mul(x, ec_sigmoid(ec_mul(x, factor)));
}

#endif
