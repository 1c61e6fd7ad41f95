/* Products of int8 for convolutions that have one filter per channel, on SVE.  Included after
   ec_integers_sve.h.  Meanings: see ec_dot_portable.h. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 4
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 4
typedef svint8_t ec_dot_words EC_FIXED;

EC_INLINE ec_dot_words ec_dot_load(const void *p) { return svld1_s8(svptrue_b8(), p); }
EC_INLINE ec_ivec ec_dot_add(ec_ivec sum, ec_dot_words a, ec_dot_words b) { return svdot_s32(sum, a, b); }

/* Lane i of vector j is channel i / 4 * 16 + j * 4 + i % 4 where nv is 4: see ec_istore_s8_four. */
EC_INLINE svuint32_t ec_dot_bytes(const int8_t *row, int n, int j, int nv)
{
    const uint8_t *const from = (const uint8_t *)row;
    if (nv == 1)
        return svld1ub_u32(ec_first(n), from);
    const svuint32_t i = svindex_u32(0, 1), behind = svand_n_u32_x(ec_all(), i, 3);
    const svuint32_t quarter = svlsl_n_u32_x(ec_all(), svlsr_n_u32_x(ec_all(), i, 2), 4);
    const svuint32_t at = svadd_u32_x(ec_all(), quarter, behind);
    return svld1ub_gather_u32offset_u32(ec_all(), from + 4 * j, at);
}
EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        ec_ivec words = svreinterpret_s32_u32(ec_dot_bytes(row[0], n, j, nv));
        EC_UNROLL
        for (int y = 1; y < EC_DOT_ROWS; y++)
            if (y < rows) {
                const svuint32_t shift = svdup_n_u32(8u * (uint32_t)y);
                const svuint32_t bytes = svlsl_u32_x(ec_all(), ec_dot_bytes(row[y], n, j, nv), shift);
                words = svorr_s32_x(ec_all(), words, svreinterpret_s32_u32(bytes));
            }
        svst1_s32(ec_all(), (int32_t *)to + j * EC_VL, words);
    }
}

#endif
