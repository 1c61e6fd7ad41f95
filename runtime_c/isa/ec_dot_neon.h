/* Products of int8 for convolutions that have one filter per channel: NEON without dot products.
   Included after ec_integers_neon.h.  Meanings: see ec_dot_portable.h.

   Elements are widened to 16 bits.  The words of four channels lie in a vector row by row: the first elements of
   all, then the second ones. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 2
#define EC_DOT_SHIFT 0
typedef int16x8_t ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return vld1q_s16(p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    return vmlal_s16(vmlal_s16(sum, vget_low_s16(a), vget_low_s16(b)), vget_high_s16(a), vget_high_s16(b));
}

EC_INLINE int16x4_t ec_dot_bytes(const int8_t *p, int n)
{
    int32_t word = 0;
    memcpy(&word, p, (size_t)n);
    return vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word))));
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int16_t *const words = to;
    if (nv == 1) {
        vst1q_s16(words, vcombine_s16(ec_dot_bytes(row[0], n), rows > 1 ? ec_dot_bytes(row[1], n) : vdup_n_s16(0)));
        return;
    }
    const int8x16_t first = vld1q_s8(row[0]), second = rows > 1 ? vld1q_s8(row[1]) : vdupq_n_s8(0);
    const int16x8_t a[2] = {vmovl_s8(vget_low_s8(first)), vmovl_s8(vget_high_s8(first))};
    const int16x8_t b[2] = {vmovl_s8(vget_low_s8(second)), vmovl_s8(vget_high_s8(second))};
    EC_UNROLL
    for (int j = 0; j < 2; j++) {
        vst1q_s16(words + 16 * j, vcombine_s16(vget_low_s16(a[j]), vget_low_s16(b[j])));
        vst1q_s16(words + 16 * j + 8, vcombine_s16(vget_high_s16(a[j]), vget_high_s16(b[j])));
    }
}

#endif
