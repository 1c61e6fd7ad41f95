/* Products of int8 for convolutions that have one filter per channel: NEON without dot products.
   Included after ec_integers_neon.h.  Meanings: see ec_dot_portable.h.

   Two products are added in 16 bits, which holds them unless both are -128 * -128.  The lower half of a vector
   has the first two elements of four words, the upper half the last two. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 0
#ifdef __aarch64__
#define EC_DOT_PIXELS 4
#else
#define EC_DOT_PIXELS 2
#endif
typedef int8x16_t ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return vld1q_s8(p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    const int16x8_t two = vmull_s8(vget_low_s8(a), vget_low_s8(b));
#ifdef __aarch64__
    return vpadalq_s16(sum, vmlal_high_s8(two, a, b));
#else
    return vpadalq_s16(sum, vmlal_s8(two, vget_high_s8(a), vget_high_s8(b)));
#endif
}

EC_INLINE int8x8_t ec_dot_bytes(const int8_t *p, int n)
{
    int32_t word = 0;
    memcpy(&word, p, (size_t)n);
    return vreinterpret_s8_s32(vdup_n_s32(word));
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int8_t *const words = to;
    if (nv == 1) {
        int8x8_t v[EC_DOT_ROWS];
        EC_UNROLL
        for (int y = 0; y < EC_DOT_ROWS; y++)
            v[y] = y < rows ? ec_dot_bytes(row[y], n) : vdup_n_s8(0);
        vst1q_s8(words, vcombine_s8(vzip_s8(v[0], v[1]).val[0], vzip_s8(v[2], v[3]).val[0]));
        return;
    }
    int8x16_t v[EC_DOT_ROWS];
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++)
        v[y] = y < rows ? vld1q_s8(row[y]) : vdupq_n_s8(0);
    const int8x16x2_t first = vzipq_s8(v[0], v[1]), second = vzipq_s8(v[2], v[3]);
    EC_UNROLL
    for (int j = 0; j < 2; j++) {
        const int8x16_t a = first.val[j], b = second.val[j];
        vst1q_s8(words + 32 * j, vcombine_s8(vget_low_s8(a), vget_low_s8(b)));
        vst1q_s8(words + 32 * j + 16, vcombine_s8(vget_high_s8(a), vget_high_s8(b)));
    }
}

#endif
