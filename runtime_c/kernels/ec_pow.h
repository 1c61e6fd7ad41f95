/* x^y as exp(y log|x|): relative error within (2 + 2 |y log x|) 2^-23.  Needs ec_exp.h, ec_log.h. */
#ifndef EC_POW_H
#define EC_POW_H

/* A negative x needs an integral y, whose parity gives the sign; NaN otherwise.  x^0 is 1. */
EC_MATH ec_vec ec_pow(ec_vec x, ec_vec y)
{
    const ec_vec zero = ec_set1(0.0f), one = ec_set1(1.0f), least = ec_set1(1.17549435e-38f);
    const ec_vec half = ec_mul(y, ec_set1(0.5f));
    const ec_vec fraction = ec_abs(ec_sub(y, ec_round(y)));      /* 0 where y is integral */
    const ec_vec odd = ec_abs(ec_sub(half, ec_round(half)));     /* 1/2 where it is odd */
    const ec_vec magnitude = ec_exp(ec_mul(y, ec_log(ec_abs(x))));
    const ec_vec signed_power =
        ec_select_lt(ec_set1(0.25f), odd, ec_sub(zero, magnitude), magnitude);
    const ec_vec nan = ec_set1(ec_from_bits(0x7fc00000u));
    const ec_vec of_negative = ec_select_lt(zero, fraction, nan, signed_power);
    const ec_vec power = ec_select_lt(x, zero, of_negative, magnitude);
    return ec_select_lt(ec_abs(y), least, one, power);
}

#endif
