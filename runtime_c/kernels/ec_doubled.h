/* The upper word of twice a product of int32, rounded to the nearest, halves up: floor((a b + 2^30) / 2^31), which
   fits unless a and b are -2^31.  Needs ec_integers_<isa>.h; without that there is nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_DOUBLED_H
#define EC_DOUBLED_H

EC_INLINE ec_ivec ec_imul_doubled(ec_ivec a, ec_ivec b)
{
    /* of the product's lower word the bits 31 and 30 come into it */
    const ec_ivec high = ec_imul_high(a, b), low = ec_imul(a, b);
    const ec_ivec even = ec_isub(high, ec_ishift_right(low, 31));
    const ec_ivec odd = ec_ishift_right(ec_iadd(ec_ishift_right(low, 30), ec_iset1(1)), 1);
    return ec_iadd(ec_iadd(even, even), odd);
}

#endif
#endif
