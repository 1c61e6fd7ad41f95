/* The micro-kernel s8_matrix with AArch64's products of matrices (smmla, FEAT_I8MM): int8 by int8 to
   int32.  Included after ec_isa_neon.h.  A word holds four channels.

   An instruction multiplies two pixels by two filters, eight channels of each.  So four words of two
   pixels are two vectors once their halves are exchanged, filters lie by twos (`_BY_TWOS` of
   edgeconv/target/backends/neon/backend.py), and a vector of sums has two filters of one pixel and of the next:
   halves are exchanged as sums are set and read, too. */
#ifndef EC_INT8_MATRIX_H
#define EC_INT8_MATRIX_H

#ifndef __ARM_FEATURE_MATMUL_INT8
#error "Multiplying matrices of int8 needs FEAT_I8MM: compile with -march=armv8.2-a+i8mm"
#endif

#include "ec_int8_neon_sums.h"

/* Sums of filters 2 half and 2 half + 1 of vector j, of rows p, which is even, and p + 1. */
#define EC_S8_MATRIX_AT(p, j, half) ((p) * nv + 2 * (j) + (half))

#define EC_SMMLA "smmla %0.4s, %1.16b, %2.16b"

typedef struct ec_s8_matrix_sums {
    ec_ivec acc[EC_TILE_VECS];
} ec_s8_matrix_sums;

/* The lower halves of a and b, or the upper ones. */
EC_INLINE int8x16_t ec_s8_matrix_halves(int8x16_t a, int8x16_t b, int upper)
{
    const int64x2_t x = vreinterpretq_s64_s8(a), y = vreinterpretq_s64_s8(b);
    return vreinterpretq_s8_s64(upper ? vzip2q_s64(x, y) : vzip1q_s64(x, y));
}

EC_INLINE ec_ivec ec_s8_matrix_half_sums(ec_ivec a, ec_ivec b, int upper)
{
    return vreinterpretq_s32_s8(ec_s8_matrix_halves(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b), upper));
}

/* Vector j of rows p and p + 1. */
EC_INLINE void ec_s8_matrix_set(ec_s8_matrix_sums *tile, ec_ivec row, ec_ivec next, int p, int j, int nv)
{
    tile->acc[EC_S8_MATRIX_AT(p, j, 0)] = ec_s8_matrix_half_sums(row, next, 0);
    tile->acc[EC_S8_MATRIX_AT(p, j, 1)] = ec_s8_matrix_half_sums(row, next, 1);
}

/* Vector j of row p. */
EC_INLINE ec_ivec ec_s8_matrix_get(const ec_s8_matrix_sums *tile, int p, int j, int nv)
{
    const int even = p / 2 * 2;
    return ec_s8_matrix_half_sums(tile->acc[EC_S8_MATRIX_AT(even, j, 0)],
                                  tile->acc[EC_S8_MATRIX_AT(even, j, 1)], p % 2);
}

EC_INLINE void ec_s8_matrix_init(ec_s8_matrix_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const int32_t *const words = start;
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int p = 0; p < mr; p += 2) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ec_ivec row = !words ? ec_iset1(0) : by_rows ? ec_iset1(words[p]) : ec_iload(words + j * EC_VL);
            ec_s8_matrix_set(tile, row, words && by_rows ? ec_iset1(words[p + 1]) : row, p, j, nv);
        }
    }
}

EC_INLINE void ec_s8_matrix_read(const ec_s8_matrix_sums *tile, ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_ireal(ec_s8_matrix_get(tile, i / nv, i % nv, nv));
}

EC_INLINE void ec_s8_matrix_save(const ec_s8_matrix_sums *tile, void *words, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_istore((int32_t *)words + i * EC_VL, ec_s8_matrix_get(tile, i / nv, i % nv, nv));
}

EC_INLINE void ec_s8_matrix_load(ec_s8_matrix_sums *tile, const void *words, int mr, int nv)
{
    const int32_t *const from = words;
    EC_TILE_BEGIN();
    EC_UNROLL
    for (int p = 0; p < mr; p += 2) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_s8_matrix_set(tile, ec_iload(from + (p * nv + j) * EC_VL),
                             ec_iload(from + ((p + 1) * nv + j) * EC_VL), p, j, nv);
    }
}

/* Sums of every row with filters 2 half and 2 half + 1 of vector j, eight channels: x[2 i + at] are those of
   rows 2 i and 2 i + 1.  In place: compilers move the sums of vmmlaq_s32. */
EC_INLINE void ec_s8_matrix_add(ec_s8_matrix_sums *tile, const int8x16_t *x, int at, int8x16_t filters, int j,
                                int half, int mr, int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr; p += 2)
        __asm__(EC_SMMLA : "+w"(tile->acc[EC_S8_MATRIX_AT(p, j, half)]) : "w"(x[p + at]), "w"(filters));
}

/* All sums of eight channels; filters by twos. */
EC_INLINE void ec_s8_matrix_eight(ec_s8_matrix_sums *tile, const int8x16_t *x, int at, const int8_t *filters,
                                  int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < 2 * nv; i++) {
        if (i % nv == 0)
            EC_IN_ORDER();
        ec_s8_matrix_add(tile, x, at, vld1q_s8(filters + i * 16), i % nv, i / nv, mr, nv);
    }
}

/* All sums of four channels, what is left: the other four of the pixels are zero, and whatever the filters have
   there counts for nothing.  Products stay where they stand (volatile): Clang delays them behind the loads that
   follow, and spills. */
EC_INLINE void ec_s8_matrix_four(ec_s8_matrix_sums *tile, const int8_t *x_at, ptrdiff_t a_row, const int8_t *filters,
                                 int mr, int nv)
{
    int32x4_t words = vdupq_n_s32(0);
    int8x16_t x[EC_TILE_VECS];
    EC_UNROLL
    for (int p = 0; p < mr; p += 2) {
        uint32_t row, next;
        memcpy(&row, x_at + p * a_row, 4);
        memcpy(&next, x_at + (p + 1) * a_row, 4);
        x[p] = vcombine_s8(vcreate_s8(row), vcreate_s8(next));
    }
    EC_UNROLL
    for (int i = 0; i < 2 * nv; i++) {
        if (i % 2 == 0)
            words = vreinterpretq_s32_s8(vld1q_s8(filters + i / 2 * 16));
        const int32x4_t two = i % 2 == 0 ? vzip1q_s32(words, words) : vzip2q_s32(words, words);
        EC_UNROLL
        for (int p = 0; p < mr; p += 2)
            __asm__ volatile(EC_SMMLA : "+w"(tile->acc[EC_S8_MATRIX_AT(p, i / 2, i % 2)]) : "w"(x[p]), "w"(two));
    }
}

EC_INLINE void ec_s8_matrix_mac(ec_s8_matrix_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                                const void *b, int depth, int mr, int nv)
{
    const int8_t *x_at = a, *w = b;
    int8x16_t x[EC_TILE_VECS];
    int k = 0;
    if (a_k == 4) {
        EC_NO_UNROLL
        for (; k + 4 <= depth; k += 4, x_at += 16, w += 4 * nv * 16) {
            EC_UNROLL
            for (int p = 0; p < mr; p += 2) {
                const int8x16_t row = vld1q_s8(x_at + p * a_row), next = vld1q_s8(x_at + (p + 1) * a_row);
                x[p] = ec_s8_matrix_halves(row, next, 0);
                x[p + 1] = ec_s8_matrix_halves(row, next, 1);
            }
            ec_s8_matrix_eight(tile, x, 0, w, mr, nv);
            ec_s8_matrix_eight(tile, x, 1, w + 2 * nv * 16, mr, nv);
        }
        if (k + 2 <= depth) {
            EC_UNROLL
            for (int p = 0; p < mr; p += 2)
                x[p] = vcombine_s8(vld1_s8(x_at + p * a_row), vld1_s8(x_at + (p + 1) * a_row));
            ec_s8_matrix_eight(tile, x, 0, w, mr, nv);
            k += 2, x_at += 8, w += 2 * nv * 16;
        }
    }
    EC_NO_UNROLL
    for (; k < depth; k++, x_at += a_k, w += nv * 16)
        ec_s8_matrix_four(tile, x_at, a_row, w, mr, nv);
}

#endif
