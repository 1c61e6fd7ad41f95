/* log(1 + exp(x)) within 2 ulp.  Needs ec_exp.h and ec_log.h. */
#ifndef EC_SOFTPLUS_H
#define EC_SOFTPLUS_H

/* max(x, 0) + log(1 + z), z = exp(-|x|); what 1 + z rounds away is added to its logarithm. */
EC_MATH ec_vec ec_softplus(ec_vec x)
{
    const ec_vec one = ec_set1(1.0f);
    const ec_vec z = ec_exp_falling(x);
    const ec_vec u = ec_add(one, z);
    const ec_vec lost = ec_sub(z, ec_sub(u, one));
    return ec_add(ec_max(x, ec_set1(0.0f)), ec_add(ec_log(u), ec_div(lost, u)));
}

#endif
