/* Sums of two numbers of int8, or one of them, with factors, an offset and a shift of each channel c:

       q = min(max((a by_a[c] + b by_b[c] + offset[c]) >> right[c], low), high)

   Whoever chooses the words proves for all 65,536 pairs of a channel that nothing overflows and that q is what the
   model says.  An operand of the result's size may be the result.  Needs ec_integers_<isa>.h; without that there is
   nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_INT8_CHANNEL_PAIRS_H
#define EC_INT8_CHANNEL_PAIRS_H

/* of_two: there is a b.  room: from the words by_a of all channels to by_b, to offset, and to right. */
typedef struct ec_int8_channel_pairs {
    int of_two, room, low, high;
} ec_int8_channel_pairs;

/* Words of the channels from one on, side by side, or of that one alone (`alone`). */
EC_INLINE ec_ivec ec_int8_channel_word(const int32_t *word, int alone)
{
    return alone ? ec_iset1(*word) : ec_iload(word);
}

EC_INLINE ec_ivec ec_int8_of_channel_pair(const ec_int8_channel_pairs spec, ec_ivec a, ec_ivec b, const int32_t *words,
                                          int alone)
{
    ec_ivec sum = ec_iadd(ec_imul(a, ec_int8_channel_word(words, alone)),
                          ec_int8_channel_word(words + 2 * (ptrdiff_t)spec.room, alone));
    if (spec.of_two)
        sum = ec_iadd(sum, ec_imul(b, ec_int8_channel_word(words + spec.room, alone)));
    return ec_ishift_right_by(sum, ec_int8_channel_word(words + 3 * (ptrdiff_t)spec.room, alone));
}

/* n numbers from element `at` on: of a channel each, whose words lie side by side, or all of one. */
EC_INLINE void ec_int8_channel_run(const ec_int8_channel_pairs spec, const int8_t *a, const int8_t *b,
                                   const int32_t *words, int alone, int8_t *out, int n)
{
    int i = 0;
    for (; i + 4 * EC_VL <= n; i += 4 * EC_VL) {
        ec_ivec x[4], y[4];
        ec_iload_s8_run(a + i, x);
        ec_iload_s8_run(b + i, y);
        EC_UNROLL
        for (int k = 0; k < 4; k++)
            x[k] = ec_int8_of_channel_pair(spec, x[k], y[k], words + (alone ? 0 : i + k * EC_VL), alone);
        ec_istore_s8_run(out + i, x, spec.low, spec.high);
    }
    for (; i < n; i += EC_VL) { /* there are whole vectors of words */
        const int count = ec_min_i(EC_VL, n - i);
        const ec_ivec q = ec_int8_of_channel_pair(spec, ec_iload_s8(a + i, count), ec_iload_s8(b + i, count),
                                                  words + (alone ? 0 : i), alone);
        ec_istore_s8(out + i, ec_ibetween(q, spec.low, spec.high), count);
    }
}

/* `outer` times `channels` of `inner` numbers side by side.  b: a where there is none. */
EC_INLINE void ec_int8_pairs_of_channels(const ec_int8_channel_pairs spec, const int8_t *a, const int8_t *b,
                                         const int32_t *words, int8_t *out, int outer, int channels, int inner)
{
    for (int o = 0; o < outer; o++) {
        if (inner == 1) {
            ec_int8_channel_run(spec, a, b, words, 0, out, channels);
            a += channels, b += channels, out += channels;
            continue;
        }
        for (int c = 0; c < channels; c++, a += inner, b += inner, out += inner)
            ec_int8_channel_run(spec, a, b, words + c, 1, out, inner);
    }
}

#endif
#endif
