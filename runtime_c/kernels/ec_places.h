/* The places of what is true. */
#ifndef EC_PLACES_H
#define EC_PLACES_H

/* Of `count` elements the places of the first `most` that are not zero, in order, zeros behind them, and then how
   many there are: out[most + 1]. */
EC_INLINE void ec_places(const uint8_t *in, int count, int most, int64_t *out)
{
    int found = 0;
    for (int i = 0; i < count && found < most; i++)
        if (in[i])
            out[found++] = i;
    for (int i = found; i < most; i++)
        out[i] = 0;
    out[most] = found;
}

#endif
