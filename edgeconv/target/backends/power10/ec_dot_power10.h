/* Products of int8 for convolutions that have one filter per channel: POWER10.  Included after
   ec_integers_power10.h.  Meanings: see ec_dot_portable.h.

   vmsummbm multiplies signed bytes by unsigned ones: of inputs 128 more is stored. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 128
#define EC_DOT_PIXELS 4
typedef __vector unsigned char ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return vec_xl(0, (const unsigned char *)p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    return vec_msum((__vector signed char)b, a, sum);
}

EC_INLINE void ec_dot_store(unsigned char *to, __vector unsigned short a, __vector unsigned short b)
{
    vec_xst((ec_dot_words)vec_mergeh(a, b), 0, to);
    vec_xst((ec_dot_words)vec_mergel(a, b), 16, to);
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    const ec_dot_words flip = vec_splats((unsigned char)EC_DOT_SHIFT);
    ec_dot_words v[EC_DOT_ROWS];
    if (nv == 1) { /* four channels: as bytes of one vector, by rows */
        static const unsigned char order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
        int32_t of[EC_DOT_ROWS] = {0};
        for (int y = 0; y < rows; y++)
            memcpy(of + y, row[y], (size_t)n);
        v[0] = (ec_dot_words)vec_xl(0, of);
        vec_xst(vec_perm(v[0], v[0], vec_xl(0, order)) ^ flip, 0, (unsigned char *)to);
        return;
    }
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++)
        v[y] = y < rows ? vec_xl(0, (const unsigned char *)row[y]) ^ flip : vec_splats((unsigned char)0);
    ec_dot_store(to, (__vector unsigned short)vec_mergeh(v[0], v[1]), (__vector unsigned short)vec_mergeh(v[2], v[3]));
    ec_dot_store((unsigned char *)to + 32, (__vector unsigned short)vec_mergel(v[0], v[1]),
                 (__vector unsigned short)vec_mergel(v[2], v[3]));
}

#endif
