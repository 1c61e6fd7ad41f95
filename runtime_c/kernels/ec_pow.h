/* x^y as exp(y log|x|): relative error within (2 + 2 |y log x|) 2^-23.  Needs ec_exp.h, ec_log.h. */
#ifndef EC_POW_H
#define EC_POW_H

/* A negative x needs an integral y, whose parity gives the sign; NaN otherwise.  x^0 and 1^y are 1, and so is -1 to an
   infinite y, which is even: log|x| = 0 is multiplied by a finite one, and any other logarithm overflows all the same. */
EC_MATH ec_vec ec_pow(ec_vec x, ec_vec y)
{
    const ec_vec zero = ec_set1(0.0f), one = ec_set1(1.0f), least = ec_set1(1.17549435e-38f);
    const ec_vec half = ec_mul(y, ec_set1(0.5f));
    const ec_vec fraction = ec_abs(ec_sub(y, ec_round(y)));      /* 0 where y is integral */
    const ec_vec odd = ec_abs(ec_sub(half, ec_round(half)));     /* 1/2 where it is odd */
    const ec_vec finite = ec_min(ec_max(y, ec_set1(-3.40282347e+38f)), ec_set1(3.40282347e+38f));
    const ec_vec magnitude = ec_exp(ec_mul(finite, ec_log(ec_abs(x))));
    const ec_vec signed_power =
        ec_select_lt(ec_set1(0.25f), odd, ec_sub(zero, magnitude), magnitude);
    const ec_vec nan = ec_set1(ec_from_bits(0x7fc00000u));
    const ec_vec of_negative = ec_select_lt(zero, fraction, nan, signed_power);
    const ec_vec power = ec_select_lt(x, zero, of_negative, magnitude);
    const ec_vec of_one = ec_select_lt(ec_abs(ec_sub(x, one)), least, one, power);
    return ec_select_lt(ec_abs(y), least, one, of_one);
}

#endif
