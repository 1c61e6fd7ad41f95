/* 1 / (1 + exp(-x)) within 2.5 ulp, results below the normal range included.  Needs ec_exp.h. */
#ifndef EC_SIGMOID_H
#define EC_SIGMOID_H

/* With z = exp(-|x|), which cannot overflow: 1 / (1 + z), times z where x is negative. */
EC_MATH ec_vec ec_sigmoid(ec_vec x)
{
    const ec_vec one = ec_set1(1.0f);
    const ec_vec z = ec_exp_falling(x);
    return ec_div(ec_select_lt(x, ec_set1(0.0f), z, one), ec_add(one, z));
}

/* x / 2 (1 + tanh(u)) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
EC_MATH ec_vec ec_gelu_tanh(ec_vec x)
{
    const ec_vec factor = ec_fma(ec_mul(x, x), ec_set1(7.13548163e-2f), ec_set1(1.59576912f));
    return ec_mul(x, ec_sigmoid(ec_mul(x, factor)));
}

#endif
