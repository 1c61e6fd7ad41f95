/* Products of int8 for convolutions that have one filter per channel, in C.  Included after
   ec_integers_vectors.h.  Meanings: see ec_dot_portable.h. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 2
typedef struct ec_dot_words {
    int8_t of[4 * EC_VL];
} ec_dot_words;

EC_INLINE ec_dot_words ec_dot_load(const void *p)
{
    ec_dot_words words;
    memcpy(words.of, p, sizeof words.of);
    return words;
}
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    EC_LANES(for (int e = 0; e < 4; e++) sum[i] += a.of[4 * i + e] * b.of[4 * i + e]);
    return sum;
}
/* Channel of lane i of vector j, of `nv`: see ec_istore_s8_four. */
EC_INLINE int ec_dot_channel(int i, int j, int nv) { return nv == 1 ? i : i / 4 * 16 + j * 4 + i % 4; }
EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int8_t *word = to;
    for (int j = 0; j < nv; j++)
        for (int i = 0; i < EC_VL; i++)
            for (int y = 0; y < EC_DOT_ROWS; y++)
                *word++ = y < rows && (nv > 1 || i < n) ? row[y][ec_dot_channel(i, j, nv)] : 0;
}

#endif
