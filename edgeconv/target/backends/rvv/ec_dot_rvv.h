/* Products of int8 for convolutions that have one filter per channel, on RVV: a word has two elements, of 16 bits.
   Included after ec_integers_rvv.h.  Meanings: see ec_dot_portable.h.

   A vector has the first elements of all its words, then the second ones: each half is multiplied by a half.  Four
   vectors that are taken together are a group of registers, and one vector so many times as long. */
#ifndef EC_DOT_H
#define EC_DOT_H

#define EC_DOT_ROWS 2
#define EC_DOT_SHIFT 0
#define EC_DOT_PIXELS 4
#define EC_DOT_GROUPED

typedef vint16mf2_t ec_dot_half_m1 EC_FIXED(1 / 2);
typedef vint16m2_t ec_dot_half_m4 EC_FIXED(2);
typedef vint32m4_t ec_dot_sums_m4 EC_FIXED(4);

/* Of one vector or of four, whichever is meant; the other is never touched, and vanishes. */
typedef struct ec_dot_words {
    ec_dot_half_m1 first_m1, second_m1;
    ec_dot_half_m4 first_m4, second_m4;
} ec_dot_words;
typedef struct ec_dot_sums {
    ec_ivec m1;
    ec_dot_sums_m4 m4;
} ec_dot_sums;

EC_INLINE ec_dot_words ec_dot_load_group(const void *p, int nv)
{
    const int16_t *const from = p;
    ec_dot_words words;
    if (nv == 4) {
        words.first_m4 = __riscv_vle16_v_i16m2(from, 4 * EC_VL);
        words.second_m4 = __riscv_vle16_v_i16m2(from + 4 * EC_VL, 4 * EC_VL);
    } else {
        words.first_m1 = __riscv_vle16_v_i16mf2(from, EC_VL);
        words.second_m1 = __riscv_vle16_v_i16mf2(from + EC_VL, EC_VL);
    }
    return words;
}
EC_INLINE ec_dot_sums ec_dot_begin(const int32_t *start, int nv)
{
    ec_dot_sums sums;
    if (nv == 4)
        sums.m4 = __riscv_vle32_v_i32m4(start, 4 * EC_VL);
    else
        sums.m1 = ec_iload(start);
    return sums;
}
EC_INLINE ec_dot_sums ec_dot_add_group(ec_dot_sums sums, ec_dot_words a, ec_dot_words b, int nv)
{
    if (nv == 4) {
        const vint32m4_t first = __riscv_vwmacc_vv_i32m4(sums.m4, a.first_m4, b.first_m4, 4 * EC_VL);
        sums.m4 = __riscv_vwmacc_vv_i32m4(first, a.second_m4, b.second_m4, 4 * EC_VL);
    } else {
        const vint32m1_t first = __riscv_vwmacc_vv_i32m1(sums.m1, a.first_m1, b.first_m1, EC_VL);
        sums.m1 = __riscv_vwmacc_vv_i32m1(first, a.second_m1, b.second_m1, EC_VL);
    }
    return sums;
}
EC_INLINE ec_ivec ec_dot_vector(ec_dot_sums sums, int j, int nv) { return nv == 4 ? ec_iof_m4(sums.m4, j) : sums.m1; }

EC_INLINE void ec_dot_pack(void *to, const int8_t *const *row, int rows, int n, int nv)
{
    int16_t *const words = to;
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++) {
        int16_t *const put = words + y * nv * EC_VL;
        if (nv == 4) {
            vint16m2_t four = __riscv_vmv_v_x_i16m2(0, 4 * EC_VL);
            if (y < rows)
                four = __riscv_vsext_vf2_i16m2(__riscv_vle8_v_i8m1(row[y], 4 * EC_VL), 4 * EC_VL);
            __riscv_vse16_v_i16m2(put, four, 4 * EC_VL);
        } else {
            vint16mf2_t one = __riscv_vmv_v_x_i16mf2(0, EC_VL);
            if (y < rows)
                one = __riscv_vsext_vf2_i16mf2(__riscv_vle8_v_i8mf4(row[y], (size_t)n), EC_VL);
            __riscv_vse16_v_i16mf2(put, one, EC_VL);
        }
    }
}

#endif
