/* Sums of int32 on RVV, which micro-kernels of int8 and int16 share: the vectors of a row are groups of up to four
   registers, and a multiply-add of a number of 16 bits in a scalar register by those of a group is one instruction.
   Included after ec_isa_rvv*.h, by the headers of these.  Meanings: see ec_micro_kernel.h. */
#ifndef EC_INT8_H
#define EC_INT8_H

#include "ec_integers_rvv.h"

typedef vint32m2_t ec_ivec_m2 EC_FIXED(2);
typedef vint32m4_t ec_ivec_m4 EC_FIXED(4);
typedef vint16mf2_t ec_half_mf2 EC_FIXED(1 / 2);
typedef vint16m1_t ec_half_m1 EC_FIXED(1);
typedef vint16m2_t ec_half_m2 EC_FIXED(2);

/* The largest group that nv vectors are whole ones of. */
EC_INLINE int ec_sums_group(int nv) { return nv % 4 == 0 ? 4 : nv % 2 == 0 ? 2 : 1; }

/* Groups of all sizes, of which a tile has one; the others are never touched, and vanish. */
typedef struct ec_s8_sums {
    ec_ivec m1[EC_TILE_VECS];
    ec_ivec_m2 m2[EC_TILE_VECS / 2];
    ec_ivec_m4 m4[EC_TILE_VECS / 4];
} ec_s8_sums;
/* A group of words, and of numbers of 16 bits, one of every word. */
typedef struct ec_sums_words {
    ec_ivec m1;
    ec_ivec_m2 m2;
    ec_ivec_m4 m4;
} ec_sums_words;
typedef struct ec_halves {
    ec_half_mf2 m1;
    ec_half_m1 m2;
    ec_half_m2 m4;
} ec_halves;

EC_INLINE ec_sums_words ec_words_load(const int32_t *p, int group)
{
    ec_sums_words found;
    switch (group) {
    case 1: found.m1 = ec_iload(p); break;
    case 2: found.m2 = __riscv_vle32_v_i32m2(p, 2 * EC_VL); break;
    default: found.m4 = __riscv_vle32_v_i32m4(p, 4 * EC_VL);
    }
    return found;
}
EC_INLINE ec_sums_words ec_words_set1(int32_t x, int group)
{
    ec_sums_words found;
    switch (group) {
    case 1: found.m1 = ec_iset1(x); break;
    case 2: found.m2 = __riscv_vmv_v_x_i32m2(x, 2 * EC_VL); break;
    default: found.m4 = __riscv_vmv_v_x_i32m4(x, 4 * EC_VL);
    }
    return found;
}
/* 16 bits of every word, from bit number `from` on. */
EC_INLINE ec_halves ec_words_half(ec_sums_words words, size_t from, int group)
{
    ec_halves found;
    switch (group) {
    case 1: found.m1 = __riscv_vnsra_wx_i16mf2(words.m1, from, EC_VL); break;
    case 2: found.m2 = __riscv_vnsra_wx_i16m1(words.m2, from, 2 * EC_VL); break;
    default: found.m4 = __riscv_vnsra_wx_i16m2(words.m4, from, 4 * EC_VL);
    }
    return found;
}
/* The upper byte of each, with its sign; the lower one's bits become those of the upper. */
EC_INLINE ec_halves ec_halves_upper(ec_halves given, int group)
{
    ec_halves found;
    switch (group) {
    case 1: found.m1 = __riscv_vsra_vx_i16mf2(given.m1, 8, EC_VL); break;
    case 2: found.m2 = __riscv_vsra_vx_i16m1(given.m2, 8, 2 * EC_VL); break;
    default: found.m4 = __riscv_vsra_vx_i16m2(given.m4, 8, 4 * EC_VL);
    }
    return found;
}
EC_INLINE ec_halves ec_halves_raised(ec_halves given, int group)
{
    ec_halves found;
    switch (group) {
    case 1: found.m1 = __riscv_vsll_vx_i16mf2(given.m1, 8, EC_VL); break;
    case 2: found.m2 = __riscv_vsll_vx_i16m1(given.m2, 8, 2 * EC_VL); break;
    default: found.m4 = __riscv_vsll_vx_i16m2(given.m4, 8, 4 * EC_VL);
    }
    return found;
}

/* Group number i becomes words. */
EC_INLINE void ec_s8_put(ec_s8_sums *tile, int i, ec_sums_words words, int group)
{
    switch (group) {
    case 1: tile->m1[i] = words.m1; break;
    case 2: tile->m2[i] = words.m2; break;
    default: tile->m4[i] = words.m4;
    }
}
/* Group number i += x * filters. */
EC_INLINE void ec_s8_multiply(ec_s8_sums *tile, int i, int16_t x, ec_halves filters, int group)
{
    switch (group) {
    case 1: tile->m1[i] = __riscv_vwmacc_vx_i32m1(tile->m1[i], x, filters.m1, EC_VL); break;
    case 2: tile->m2[i] = __riscv_vwmacc_vx_i32m2(tile->m2[i], x, filters.m2, 2 * EC_VL); break;
    default: tile->m4[i] = __riscv_vwmacc_vx_i32m4(tile->m4[i], x, filters.m4, 4 * EC_VL);
    }
}
/* Vector number i of all. */
EC_INLINE ec_ivec ec_s8_vector(const ec_s8_sums *tile, int i, int group)
{
    switch (group) {
    case 1: return tile->m1[i];
    case 2: return ec_iof_m2(tile->m2[i / 2], i % 2);
    default: return ec_iof_m4(tile->m4[i / 4], i % 4);
    }
}

EC_INLINE void ec_s8_init(ec_s8_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    const int32_t *const words = start;
    const int group = ec_sums_group(nv), each = nv / group;
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int i = 0; i < each; i++)
            ec_s8_put(tile, p * each + i,
                      !words || by_rows ? ec_words_set1(words ? words[p] : 0, group)
                                        : ec_words_load(words + i * group * EC_VL, group),
                      group);
    }
}

EC_INLINE void ec_s8_read(const ec_s8_sums *tile, ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_ireal(ec_s8_vector(tile, i, ec_sums_group(nv)));
}

EC_INLINE void ec_s8_save(const ec_s8_sums *tile, void *words, int mr, int nv)
{
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_istore((int32_t *)words + i * EC_VL, ec_s8_vector(tile, i, ec_sums_group(nv)));
}

EC_INLINE void ec_s8_load(ec_s8_sums *tile, const void *words, int mr, int nv)
{
    const int group = ec_sums_group(nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv / group; i++)
        ec_s8_put(tile, i, ec_words_load((const int32_t *)words + i * group * EC_VL, group), group);
}

#endif
