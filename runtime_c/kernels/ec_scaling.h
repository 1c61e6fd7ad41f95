/* How int32 sums become whole numbers of the result, a vector at a time:

       floor((high_word(sum * multiplier) + offset) / 2^right)

   Needs ec_integers_<isa>.h; without that there is nothing here.  ec_scaling_offsets.h,
   ec_scaling_ties.h and ec_scaling_twice.h are the others of these. */
#ifdef EC_INTEGERS_H
#ifndef EC_SCALING_H
#define EC_SCALING_H

enum { EC_SCALING_WORDS = 2 }; /* of a channel: what its sum starts with, and this: */
#define EC_SCALES_ALIKE        /* but for this one all have the same */
typedef ec_ivec ec_scaling;

/* Of the channels whose multipliers lie at `multiplier`; what else they have lies `apart` behind. */
EC_INLINE ec_scaling ec_scaling_at(const int32_t *multiplier, ptrdiff_t apart)
{
    (void)apart;
    return ec_iload(multiplier);
}

/* Of one channel. */
EC_INLINE ec_scaling ec_scaling_of(int multiplier, int shift, int offset)
{
    (void)shift, (void)offset;
    return ec_iset1(multiplier);
}

EC_INLINE ec_ivec ec_scaled(ec_ivec sum, const ec_scaling by, int offset, int right)
{
    return ec_ishift_right(ec_iadd(ec_imul_high(sum, by), ec_iset1(offset)), right);
}

/* Numbers in front of their shift, no half of which is to become even. */
EC_INLINE ec_ivec ec_to_even(ec_ivec number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#endif
#endif
