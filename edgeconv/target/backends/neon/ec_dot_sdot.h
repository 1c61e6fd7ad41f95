/* Products of int8 for convolutions that have one filter per channel: AArch64's dot products.  Included
   after ec_integers_neon.h.  Meanings: see ec_dot_portable.h. */
#ifndef EC_DOT_H
#define EC_DOT_H

#ifndef __ARM_FEATURE_DOTPROD
#error "Multiplying int8 needs dot products: compile with -march=armv8.2-a+dotprod"
#endif

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 4
typedef int8x16_t ec_dot_words;
EC_INLINE ec_dot_words ec_dot_load(const void *p) { return vld1q_s8(p); }

/* In place: GCC moves the sums of vdotq_s32. */
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b)
{
    __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
    return sum;
}

EC_INLINE int8x16_t ec_dot_halves(int8x16_t a, int8x16_t b, int high)
{
    const int16x8_t x = vreinterpretq_s16_s8(a), y = vreinterpretq_s16_s8(b);
    return vreinterpretq_s8_s16(high ? vzip2q_s16(x, y) : vzip1q_s16(x, y));
}

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int8_t *const words = to;
    int8x16_t v[EC_DOT_ROWS];
    if (nv == 1) { /* four channels: as bytes of one vector, by rows */
        static const uint8_t order[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
        int32_t of[EC_DOT_ROWS] = {0};
        for (int y = 0; y < rows; y++)
            memcpy(of + y, row[y], (size_t)n);
        vst1q_s8(words, vqtbl1q_s8(vreinterpretq_s8_s32(vld1q_s32(of)), vld1q_u8(order)));
        return;
    }
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++)
        v[y] = y < rows ? vld1q_s8(row[y]) : vdupq_n_s8(0);
    const int8x16_t low = vzip1q_s8(v[0], v[1]), high = vzip2q_s8(v[0], v[1]);
    const int8x16_t low_2 = vzip1q_s8(v[2], v[3]), high_2 = vzip2q_s8(v[2], v[3]);
    vst1q_s8(words, ec_dot_halves(low, low_2, 0));
    vst1q_s8(words + 16, ec_dot_halves(low, low_2, 1));
    vst1q_s8(words + 32, ec_dot_halves(high, high_2, 0));
    vst1q_s8(words + 48, ec_dot_halves(high, high_2, 1));
}

#endif
