/* How int32 sums become whole numbers of the result, a vector at a time, where halves of a step are to become even
   numbers, as where all scales are powers of two:

       floor((high_word((sum + bit) * multiplier) + offset[channel]) / 2^right),    bit: number tie[channel] - 1 of the sum

   That bit is the lowest one of floor(result), so that a half of a step is raised in front of an odd number alone
   (edgeconv/ir/requantisation/per_channel.py).  tie is 33 where no sum is a half.  Needs ec_integers_<isa>.h; without that
   there is nothing here.  As ec_scaling.h otherwise. */
#ifdef EC_INTEGERS_H
#ifndef EC_SCALING_H
#define EC_SCALING_H

enum { EC_SCALING_WORDS = 4 }; /* of a channel: what its sum starts with, multiplier, offset, tie */
typedef struct ec_scaling {
    ec_ivec multiplier, offset, place, mask; /* of the bit */
} ec_scaling;

EC_INLINE ec_scaling ec_scaling_from(ec_ivec multiplier, ec_ivec offset, ec_ivec tie)
{
    const ec_scaling by = {.multiplier = multiplier, .offset = offset,
                           .place = ec_ibetween(ec_iadd(tie, ec_iset1(-1)), 0, 31),
                           .mask = ec_ibetween(ec_isub(ec_iset1(32), tie), 0, 1)};
    return by;
}

/* Of the channels whose multipliers lie at `multiplier`; their offsets lie `apart` behind, and ties behind these. */
EC_INLINE ec_scaling ec_scaling_at(const int32_t *multiplier, ptrdiff_t apart)
{
    return ec_scaling_from(ec_iload(multiplier), ec_iload(multiplier + apart), ec_iload(multiplier + 2 * apart));
}

/* Of one channel, without ties. */
EC_INLINE ec_scaling ec_scaling_of(int multiplier, int shift, int offset)
{
    (void)shift;
    return ec_scaling_from(ec_iset1(multiplier), ec_iset1(offset), ec_iset1(33));
}

EC_INLINE ec_ivec ec_scaled(ec_ivec sum, const ec_scaling by, int offset, int right)
{
    const ec_ivec bit = ec_iand(ec_ishift_right_by(sum, by.place), by.mask);
    (void)offset;
    return ec_ishift_right(ec_iadd(ec_imul_high(ec_iadd(sum, bit), by.multiplier), by.offset), right);
}

/* Numbers in front of their shift, with their bit `right` added where ties is 1. */
EC_INLINE ec_ivec ec_to_even(ec_ivec number, int right, int ties)
{
    return ec_iadd(number, ec_iand(ec_ishift_right(number, right), ec_iset1(ties)));
}

#endif
#endif
