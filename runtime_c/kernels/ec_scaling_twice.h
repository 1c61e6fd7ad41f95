/* How int32 sums become whole numbers of the result, a vector at a time, rounded twice as in TensorFlow Lite:

       word = floor((sum * multiplier + 2^30) / 2^31),    round(word / 2^shift) + offset

   halves away from 0.  What lies in memory is one less than the shift.  right: the smallest shift of all channels.  Needs ec_integers_<isa>.h; without that there is nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_SCALING_H
#define EC_SCALING_H

#include "ec_doubled.h"

enum { EC_SCALING_WORDS = 3 }; /* of a channel: what its sum starts with, multiplier, shift less one */
typedef struct ec_scaling {
    ec_ivec multiplier, first, last; /* shifts: the last bit, where there is one, takes a half */
} ec_scaling;

EC_INLINE ec_scaling ec_scaling_from(ec_ivec multiplier, ec_ivec less)
{
    const ec_scaling by = {.multiplier = multiplier, .first = ec_ibetween(less, 0, 31),
                           .last = ec_ibetween(ec_iadd(less, ec_iset1(1)), 0, 1)};
    return by;
}

/* Of the channels whose multipliers lie at `multiplier`; their shifts lie `apart` behind. */
EC_INLINE ec_scaling ec_scaling_at(const int32_t *multiplier, ptrdiff_t apart)
{
    return ec_scaling_from(ec_iload(multiplier), ec_iload(multiplier + apart));
}

/* Of one channel. */
EC_INLINE ec_scaling ec_scaling_of(int multiplier, int less, int offset)
{
    (void)offset;
    return ec_scaling_from(ec_iset1(multiplier), ec_iset1(less));
}

EC_INLINE ec_ivec ec_scaled(ec_ivec sum, const ec_scaling by, int offset, int right)
{
    const ec_ivec word = ec_imul_doubled(sum, by.multiplier);
    ec_ivec below = ec_ibetween(word, -1, 0);
    if (right < 1) /* nothing is rounded where nothing is shifted */
        below = ec_imul(below, by.last);
    const ec_ivec near = ec_iadd(ec_ishift_right_by(ec_iadd(word, below), by.first), by.last);
    const ec_ivec whole = ec_ishift_right_by(near, by.last);
    return ec_iadd(whole, ec_iset1(offset));
}

/* Numbers in front of their shift, no half of which is to become even. */
EC_INLINE ec_ivec ec_to_even(ec_ivec number, int right, int ties)
{
    (void)right, (void)ties;
    return number;
}

#endif
#endif
