/* Products of int8 for convolutions that have one filter per channel: in plain C, and what it means
   elsewhere.  Included after ec_integers_portable.h.

   A word holds, of one channel, EC_DOT_ROWS neighbouring elements of the input, and of its filter what they are multiplied by; a
   vector has words of EC_VL channels.  EC_DOT_SHIFT: so much more is stored of inputs, and sums must begin with as much less.
   EC_DOT_PIXELS: pixels that are summed together, as many as registers hold beside what four vectors of results take.

   ec_dot_pack makes nv vectors of words from bytes at row[0], row[1], ..., of which there are `rows`; others
   count as nothing.  Either nv is 4, and all channels exist, in the order of ec_istore_s8_four; or it
   is 1, of n channels in order.  ec_dot_add: sum + the products of either word's elements.

   An ISA whose instructions take groups of registers defines EC_DOT_GROUPED, and in the place of ec_dot_load and ec_dot_add
   their like of nv vectors, 4 or 1, whose words are those of one vector nv times as long: ec_dot_load_group and
   ec_dot_add_group, with sums of a type ec_dot_sums that ec_dot_begin loads and ec_dot_vector takes vector j of. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 2
typedef struct ec_dot_words {
    int8_t of[4];
} ec_dot_words;

EC_INLINE ec_dot_words ec_dot_load(const void *p)
{
    ec_dot_words words;
    memcpy(words.of, p, sizeof words.of);
    return words;
}
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    return sum + a.of[0] * b.of[0] + a.of[1] * b.of[1] + a.of[2] * b.of[2] + a.of[3] * b.of[3];
}
EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int8_t *const word = to;
    for (int i = 0; i < nv * n; i++)
        for (int y = 0; y < EC_DOT_ROWS; y++)
            word[4 * i + y] = y < rows ? row[y][i] : 0;
}

#endif
