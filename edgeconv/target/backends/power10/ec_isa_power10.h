/* POWER10: vectors of four floats (VSX), and an outer-product tile in the accumulators of the matrix
   unit (MMA).  Meanings: see ec_isa_portable.h and ec_micro_kernel.h.  An accumulator holds 4 x 4
   floats and has no lane form, so that its rows come in fours. */
#ifndef EC_ISA_H
#define EC_ISA_H

#include <altivec.h>
#undef bool
#undef pixel
#undef vector

#define EC_ISA_NAME "power10"
#define EC_VL 4
#define EC_TILE_VECS 32 /* of 64 registers, or the eight accumulators of four vectors each */

typedef __vector float ec_vec;
typedef __vector unsigned int ec_vec_u32;
typedef __vector int ec_vec_s32;
typedef __vector unsigned char ec_vec_u8;

EC_INLINE ec_vec ec_load(const float *p) { return vec_xl(0, p); }
EC_INLINE void ec_store(float *p, ec_vec v) { vec_xst(v, 0, p); }
EC_INLINE ec_vec ec_load_n(const float *p, int n) { return vec_xl_len(p, (size_t)n * sizeof *p); }
EC_INLINE void ec_store_n(float *p, ec_vec v, int n) { vec_xst_len(v, p, (size_t)n * sizeof *p); }
EC_INLINE ec_vec ec_set1(float x) { return vec_splats(x); }
EC_INLINE ec_vec ec_add(ec_vec a, ec_vec b) { return vec_add(a, b); }
EC_INLINE ec_vec ec_sub(ec_vec a, ec_vec b) { return vec_sub(a, b); }
EC_INLINE ec_vec ec_mul(ec_vec a, ec_vec b) { return vec_mul(a, b); }
EC_INLINE ec_vec ec_div(ec_vec a, ec_vec b) { return vec_div(a, b); }
EC_INLINE ec_vec ec_fma(ec_vec a, ec_vec b, ec_vec c) { return vec_madd(a, b, c); }
EC_INLINE ec_vec ec_max(ec_vec a, ec_vec b) { return vec_sel(a, b, vec_cmplt(a, b)); }
EC_INLINE ec_vec ec_min(ec_vec a, ec_vec b) { return vec_sel(a, b, vec_cmpgt(a, b)); }
EC_INLINE ec_vec ec_maximum(ec_vec a, ec_vec b)
{
    return vec_sel(b, ec_max(a, b), vec_cmpeq(b, b));
}
EC_INLINE ec_vec ec_minimum(ec_vec a, ec_vec b)
{
    return vec_sel(b, ec_min(a, b), vec_cmpeq(b, b));
}
EC_INLINE ec_vec ec_abs(ec_vec a) { return vec_abs(a); }
EC_INLINE ec_vec ec_select_lt(ec_vec a, ec_vec b, ec_vec x, ec_vec y)
{
    return vec_sel(y, x, vec_cmplt(a, b));
}
EC_INLINE ec_vec ec_copysign(ec_vec a, ec_vec b)
{
    return (ec_vec)vec_sel((ec_vec_u32)a, (ec_vec_u32)b, vec_splats(0x80000000u));
}
EC_INLINE ec_vec ec_round(ec_vec a) { return vec_rint(a); }
EC_INLINE ec_vec ec_exp2i(ec_vec n)
{
    return (ec_vec)vec_sl((ec_vec_u32)vec_add(n, vec_splats(12583039.0f)), vec_splats(23u));
}
EC_INLINE ec_vec ec_exponent(ec_vec a)
{
    return vec_float(vec_sub((ec_vec_s32)vec_sr((ec_vec_u32)a, vec_splats(23u)), vec_splats(127)));
}
EC_INLINE ec_vec ec_mantissa(ec_vec a)
{
    return (ec_vec)vec_or(vec_and((ec_vec_u32)a, vec_splats(0x007fffffu)), vec_splats(0x3f800000u));
}
EC_INLINE ec_vec ec_sqrt(ec_vec a) { return vec_sqrt(a); }
/* Lanes lie in reverse in a little-endian register, so that the shift counts from the other end. */
EC_INLINE ec_vec ec_shift(ec_vec a, ec_vec b, int n)
{
    switch (n) {
    case 1: return vec_sld(b, a, 12);
    case 2: return vec_sld(b, a, 8);
    case 3: return vec_sld(b, a, 4);
    default: return a;
    }
}

EC_INLINE void ec_deinterleave(ec_vec a, ec_vec b, ec_vec *even, ec_vec *odd)
{
    const ec_vec x = vec_mergeh(a, b), y = vec_mergel(a, b); /* a0 b0 a1 b1, a2 b2 a3 b3 */
    const ec_vec e = vec_mergeh(x, y), o = vec_mergel(x, y); /* a0 a2 b0 b2, a1 a3 b1 b3 */
    *even = e;
    *odd = o;
}
#include "ec_lanes_four.h"

EC_INLINE void ec_transpose(ec_vec v[EC_VL])
{
    const ec_vec a = vec_mergeh(v[0], v[2]), b = vec_mergel(v[0], v[2]);
    const ec_vec c = vec_mergeh(v[1], v[3]), d = vec_mergel(v[1], v[3]);
    v[0] = vec_mergeh(a, c);
    v[1] = vec_mergel(a, c);
    v[2] = vec_mergeh(b, d);
    v[3] = vec_mergel(b, d);
}
EC_INLINE float ec_reduce_add(ec_vec a) { return (a[0] + a[2]) + (a[1] + a[3]); }
EC_INLINE float ec_reduce_max(ec_vec a)
{
    const ec_vec half = ec_maximum(a, vec_sld(a, a, 8));
    return ec_maximum(half, vec_sld(half, half, 4))[0];
}
EC_INLINE float ec_reduce_min(ec_vec a)
{
    const ec_vec half = ec_minimum(a, vec_sld(a, a, 8));
    return ec_minimum(half, vec_sld(half, half, 4))[0];
}

#include "ec_stored_power10.h"
#include "ec_tile_lanes.h"
#include "ec_tile_broadcast.h"

/* Accumulator (p / 4) * nv + j holds rows p .. p + 3 of vector j; mr is a multiple of 4. */
typedef struct ec_f32_sums {
    __vector_quad acc[EC_TILE_VECS / 4];
} ec_f32_sums;

/* DO(i) for every accumulator i of the first n.  No loop: Clang 14 takes an accumulator for so
   large that it unrolls no loop over them, and then they stay in memory. */
#define EC_EACH_ACC(n, DO)                                                                         \
    do {                                                                                           \
        if ((n) > 0) DO(0);                                                                        \
        if ((n) > 1) DO(1);                                                                        \
        if ((n) > 2) DO(2);                                                                        \
        if ((n) > 3) DO(3);                                                                        \
        if ((n) > 4) DO(4);                                                                        \
        if ((n) > 5) DO(5);                                                                        \
        if ((n) > 6) DO(6);                                                                        \
        if ((n) > 7) DO(7);                                                                        \
    } while (0)

/* The accumulator whose four rows are rows[0], rows[nv] ... rows[3 * nv]. */
EC_INLINE void ec_acc_set(__vector_quad *acc, const ec_vec *rows, int nv)
{
    __builtin_mma_build_acc(acc, (ec_vec_u8)rows[0], (ec_vec_u8)rows[nv], (ec_vec_u8)rows[2 * nv],
                            (ec_vec_u8)rows[3 * nv]);
}

EC_INLINE void ec_f32_set(ec_f32_sums *tile, const ec_vec *rows, int mr, int nv)
{
#define EC_SET(i) ec_acc_set(&tile->acc[i], rows + (i) / nv * 4 * nv + (i) % nv, nv)
    EC_EACH_ACC(mr / 4 * nv, EC_SET);
#undef EC_SET
}

/* rows[p * nv + j] = what vector j of row p starts with: words whose bits nobody looks at. */
EC_INLINE void ec_start_rows(ec_vec *rows, const void *start, int by_rows, int mr, int nv)
{
    const uint32_t *const words = start;
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = by_rows ? (ec_vec)vec_splats(words[i / nv]) : (ec_vec)vec_xl(0, words + i % nv * EC_VL);
}

EC_INLINE void ec_f32_init(ec_f32_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    if (start) {
        ec_start_rows(rows, start, by_rows, mr, nv);
        ec_f32_set(tile, rows, mr, nv);
        return;
    }
#define EC_ZERO(i) __builtin_mma_xxsetaccz(&tile->acc[i])
    EC_EACH_ACC(mr / 4 * nv, EC_ZERO);
#undef EC_ZERO
}

/* rows[0], rows[nv] ... rows[3 * nv] = the four rows of an accumulator. */
EC_INLINE void ec_acc_read(const __vector_quad *acc, ec_vec *rows, int nv)
{
    ec_vec four[4];
    __vector_quad copy = *acc;
    __builtin_mma_disassemble_acc(four, &copy);
    rows[0] = four[0];
    rows[nv] = four[1];
    rows[2 * nv] = four[2];
    rows[3 * nv] = four[3];
}

EC_INLINE void ec_f32_read(const ec_f32_sums *tile, ec_vec *rows, int mr, int nv)
{
#define EC_READ(i) ec_acc_read(&tile->acc[i], rows + (i) / nv * 4 * nv + (i) % nv, nv)
    EC_EACH_ACC(mr / 4 * nv, EC_READ);
#undef EC_READ
}

EC_INLINE void ec_f32_save(const ec_f32_sums *tile, void *words, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    ec_f32_read(tile, rows, mr, nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store((float *)words + i * EC_VL, rows[i]);
}

EC_INLINE void ec_f32_load(ec_f32_sums *tile, const void *words, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    ec_start_rows(rows, words, 0, 1, mr * nv);
    ec_f32_set(tile, rows, mr, nv);
}

/* The operands of one step: mr filters x, nv vectors of pixels y. */
typedef struct ec_mma_operands {
    ec_vec_u8 x[EC_TILE_VECS / 4], y[EC_TILE_VECS / 4];
} ec_mma_operands;

EC_INLINE void ec_f32_operands(ec_mma_operands *loaded, const float *a, const float *b, int mr, int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr / 4; p++)
        loaded->x[p] = (ec_vec_u8)ec_load(a + 4 * p);
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        loaded->y[j] = (ec_vec_u8)ec_load(b + j * EC_VL);
}

EC_INLINE void ec_f32_add(ec_f32_sums *tile, ec_mma_operands *loaded, int mr, int nv)
{
#define EC_ADD(i) __builtin_mma_xvf32gerpp(&tile->acc[i], loaded->x[(i) / nv], loaded->y[(i) % nv])
    EC_EACH_ACC(mr / 4 * nv, EC_ADD);
#undef EC_ADD
    EC_IN_ORDER();
}

#define EC_MMA_STAGES 4 /* steps whose operands are in registers, at most */

/* A step takes four cycles, a load six: operands are loaded some steps ahead, as many as the 32
   registers beside the accumulators hold.  A round of the loop is that many steps, so that each finds
   its operands in registers of its own.  Those loaded ahead of the last round's end are loaded
   again: used there, they would be copied in every round. */
EC_INLINE void ec_f32_mac(ec_f32_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                          const void *b, int depth, int mr, int nv)
{
    const float *x = a, *y = b;
    const int nr = nv * EC_VL;
    const int stages = EC_MMA_STAGES * (mr / 4 + nv) <= 28 ? EC_MMA_STAGES : EC_MMA_STAGES - 1;
    const int alone = depth < 2 * stages - 1 ? depth : (depth - (stages - 1)) % stages;
    ec_mma_operands loaded[EC_MMA_STAGES];
    (void)a_row, (void)a_k; /* packed */
    EC_NO_UNROLL
    for (int k = 0; k < alone; k++, x += mr, y += nr) {
        ec_f32_operands(&loaded[0], x, y, mr, nv);
        ec_f32_add(tile, &loaded[0], mr, nv);
    }
    if (alone == depth)
        return;
    EC_UNROLL
    for (int i = 0; i < stages - 1; i++)
        ec_f32_operands(&loaded[i], x + i * mr, y + i * nr, mr, nv);
    EC_NO_UNROLL
    for (int k = depth - alone; k >= stages; k -= stages, x += stages * mr, y += stages * nr) {
        EC_UNROLL
        for (int i = 0; i < stages; i++) {
            const int next = i + stages - 1;
            ec_f32_operands(&loaded[next % stages], x + next * mr, y + next * nr, mr, nv);
            ec_f32_add(tile, &loaded[i], mr, nv);
        }
    }
    EC_UNROLL
    for (int i = 0; i < stages - 1; i++) {
        ec_f32_operands(&loaded[i], x + i * mr, y + i * nr, mr, nv);
        ec_f32_add(tile, &loaded[i], mr, nv);
    }
}

#endif
