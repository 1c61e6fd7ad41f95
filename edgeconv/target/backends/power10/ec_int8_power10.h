/* The micro-kernel s8 in the accumulators of POWER10's matrix unit: int8 by int8 to int32.  Included
   after ec_isa_power10.h.

   A word holds four channels.  xvi8ger4pp multiplies signed bytes of an accumulator's rows by unsigned
   ones of its columns.  Only of the operand that is known beforehand can be taken off what a shift of
   the other adds: so the tile's vectors (filters) are the accumulator's rows and the tile's rows
   (pixels), stored 128 more, its columns.  It is transposed as it is set and read. */
#ifndef EC_INT8_H
#define EC_INT8_H

typedef ec_f32_sums ec_s8_sums;

#include "ec_integers_power10.h"

/* Sixteen channels of four pixels, `pixel` bytes from one to the next, as bytes 128 more: words of
   theirs side by side, and the next four channels of all `columns` words behind. */
#define EC_PACKS_SIXTEENS
EC_INLINE void ec_s8_pack_sixteen(uint32_t *to, ptrdiff_t columns, const int8_t *in, ptrdiff_t pixel)
{
    const __vector unsigned char shift = vec_splats((unsigned char)128);
    ec_vec v[4];
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = (ec_vec)vec_xor(vec_xl(0, (const unsigned char *)in + i * pixel), shift);
    ec_transpose(v);
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        vec_xst((__vector unsigned)v[i], 0, to + i * columns);
}

/* The rows of a tile in place of those of accumulators, or the other way round. */
EC_INLINE void ec_s8_transpose(ec_vec *rows, int mr, int nv)
{
    EC_UNROLL
    for (int p = 0; p < mr; p += 4) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            ec_vec *const to = rows + p * nv + j;
            ec_vec v[4] = {to[0], to[nv], to[2 * nv], to[3 * nv]};
            ec_transpose(v);
            EC_UNROLL
            for (int i = 0; i < 4; i++)
                to[i * nv] = v[i];
        }
    }
}

EC_INLINE void ec_s8_init(ec_s8_sums *tile, const void *start, int by_rows, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    if (!start) {
        ec_f32_init(tile, NULL, 0, mr, nv);
        return;
    }
    ec_start_rows(rows, start, by_rows, mr, nv);
    ec_s8_transpose(rows, mr, nv);
    ec_f32_set(tile, rows, mr, nv);
}

EC_INLINE void ec_s8_load(ec_s8_sums *tile, const void *words, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    ec_start_rows(rows, words, 0, 1, mr * nv);
    ec_s8_transpose(rows, mr, nv);
    ec_f32_set(tile, rows, mr, nv);
}

EC_INLINE void ec_s8_read(const ec_s8_sums *tile, ec_vec *rows, int mr, int nv)
{
    ec_f32_read(tile, rows, mr, nv);
    ec_s8_transpose(rows, mr, nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        rows[i] = ec_ireal((ec_ivec)rows[i]);
}

EC_INLINE void ec_s8_save(const ec_s8_sums *tile, void *words, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    ec_f32_read(tile, rows, mr, nv);
    ec_s8_transpose(rows, mr, nv);
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        ec_store((float *)words + i * EC_VL, rows[i]);
}

EC_INLINE void ec_s8_mac(ec_s8_sums *tile, const void *a, ptrdiff_t a_row, ptrdiff_t a_k,
                         const void *b, int depth, int mr, int nv)
{
    const unsigned char *x = a, *w = b;
    (void)a_row; /* packed */
    EC_NO_UNROLL
    for (int k = 0; k < depth; k++, x += a_k, w += nv * EC_VL * 4) {
        ec_mma_operands loaded;
        EC_UNROLL
        for (int p = 0; p < mr / 4; p++)
            loaded.x[p] = vec_xl(0, x + 16 * p);
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            loaded.y[j] = vec_xl(0, w + 16 * j);
#define EC_ADD(i) __builtin_mma_xvi8ger4pp(&tile->acc[i], loaded.y[(i) % nv], loaded.x[(i) / nv])
        EC_EACH_ACC(mr / 4 * nv, EC_ADD);
#undef EC_ADD
    }
}

#endif
