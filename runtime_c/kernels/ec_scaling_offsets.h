/* How int32 sums become whole numbers of the result, a vector at a time, where a bias is no whole number of units:

       floor((high_word(sum * multiplier) + offset[channel]) / 2^right)

   Needs ec_integers_<isa>.h; without that there is nothing here.  As ec_scaling.h otherwise. */
#ifdef EC_INTEGERS_H
#ifndef EC_SCALING_H
#define EC_SCALING_H

enum { EC_SCALING_WORDS = 3 }; /* of a channel: what its sum starts with, multiplier, offset */
#define EC_SCALES_WITH_OFFSETS /* each channel its own, twice of which fits 32 bits */
typedef struct ec_scaling {
    ec_ivec multiplier, offset;
} ec_scaling;

/* Of the channels whose multipliers lie at `multiplier`; their offsets lie `apart` behind. */
EC_INLINE ec_scaling ec_scaling_at(const int32_t *multiplier, ptrdiff_t apart)
{
    const ec_scaling by = {.multiplier = ec_iload(multiplier), .offset = ec_iload(multiplier + apart)};
    return by;
}

/* Of one channel. */
EC_INLINE ec_scaling ec_scaling_of(int multiplier, int shift, int offset)
{
    const ec_scaling by = {.multiplier = ec_iset1(multiplier), .offset = ec_iset1(offset)};
    (void)shift;
    return by;
}

EC_INLINE ec_ivec ec_scaled(ec_ivec sum, const ec_scaling by, int offset, int right)
{
    (void)offset;
    return ec_ishift_right(ec_iadd(ec_imul_high(sum, by.multiplier), by.offset), right);
}

/* Numbers in front of their shift, no half of which is to become even. */
EC_INLINE ec_ivec ec_to_even(ec_ivec number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#endif
#endif
