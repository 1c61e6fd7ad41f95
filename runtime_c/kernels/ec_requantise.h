/* From a tile of int32 sums to int8, or to the float32 of that.  Needs ec_epilogue.h, and ec_integers_<isa>.h; without that there is
   nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_REQUANTISE_H
#define EC_REQUANTISE_H

#include "ec_scaling.h"

/* Vectors of sums as whole numbers that are still to be bounded: by low and high, or, where they are
   rounded again, by sum_low and sum_high.  The n lanes of the residual begin at residual[at]. */
EC_INLINE ec_ivec ec_requantised(const ec_requantise as, ec_ivec sum, const ec_scaling by,
                                 const int8_t *residual, ptrdiff_t at, int n)
{
    ec_ivec q = ec_scaled(sum, by, as.offset, as.right);
    if (as.sum_right) {
        q = ec_iadd(ec_imul(ec_ibetween(q, as.low, as.high), ec_iset1(as.by_sum)), ec_iset1(as.sum_offset));
        if (as.has_residual)
            q = ec_iadd(q, ec_imul(ec_iload_s8(residual + at, n), ec_iset1(as.by_residual)));
        q = ec_ishift_right(ec_to_even(q, as.sum_right, as.sum_ties), as.sum_right);
    }
    return q;
}

/* The first n lanes of sums in int32 to the elements of `out` from number `at` on; the residual is
   int8 and lies likewise.  Nothing overflows: whoever chooses the numbers proves that. */
EC_INLINE void ec_requantise_lanes(const ec_requantise as, ec_ivec sum, const ec_scaling by,
                                   const int8_t *residual, void *out, ptrdiff_t at, int n)
{
    const ec_ivec unbounded = ec_requantised(as, sum, by, residual, at, n);
    const ec_ivec q = ec_ibetween(unbounded, as.sum_right ? as.sum_low : as.low, as.sum_right ? as.sum_high : as.high);
    if (as.as_float)
        ec_write((float *)out + at,
                 ec_mul(ec_ireal(ec_iadd(q, ec_iset1(-as.zero))), ec_set1(as.scale)), n);
    else
        ec_istore_s8((int8_t *)out + at, q, n);
}

#ifdef EC_NARROWS
/* What all results of a tile take. */
typedef struct ec_requantise_here {
    ec_scaling by[EC_TILE_VECS];
    ec_noffset offset;
    ec_ivec by_sum, by_residual, sum_offset;
} ec_requantise_here;

/* Two vectors of sums, of vectors i and j of a row, as ec_requantised, in int16. */
EC_INLINE ec_nvec ec_requantised_two(const ec_requantise as, const ec_requantise_here *here, ec_ivec a, ec_ivec b,
                                     int i, int j, ec_nvec residual)
{
#ifdef EC_SCALES_ALIKE
    const ec_nvec whole = ec_nscaled(a, b, here->by[i], here->by[j], here->offset, as.right);
#elif defined(EC_SCALES_WITH_OFFSETS)
    const ec_scaling by_a = here->by[i], by_b = here->by[j];
    const ec_nvec whole = ec_nscaled_each(a, b, by_a.multiplier, by_b.multiplier, by_a.offset, by_b.offset, as.right);
#else
    const ec_nvec whole = ec_narrow(ec_scaled(a, here->by[i], as.offset, as.right),
                                     ec_scaled(b, here->by[j], as.offset, as.right));
#endif
    ec_ivec sums[2];
    if (!as.sum_right)
        return whole;
    const ec_nvec bounded = ec_nbetween(whole, as.low, as.high);
    EC_UNROLL
    for (int k = 0; k < 2; k++) {
        sums[k] = ec_iadd(here->sum_offset, ec_imul(ec_nwiden(bounded, k), here->by_sum));
        if (as.has_residual)
            sums[k] = ec_iadd(sums[k], ec_imul(ec_nwiden(residual, k), here->by_residual));
        sums[k] = ec_to_even(sums[k], as.sum_right, as.sum_ties);
    }
    return ec_nshift_right(sums[0], sums[1], as.sum_right);
}

/* Vectors j and j + 1 of a row, whose sums are `sums` and the following; n bytes of them exist. */
EC_INLINE ec_nvec ec_requantised_beside(const ec_requantise as, const ec_requantise_here *here, const int32_t *sums,
                                        const int8_t *residual, int j, int n)
{
    const ec_ivec a = ec_iload(sums), b = ec_iload(sums + EC_VL);
    return ec_requantised_two(as, here, a, b, j, j + 1,
                              as.has_residual ? ec_nload_s8(residual, n) : ec_narrow(a, a));
}

/* Rows of nv vectors in registers to bytes, two vectors at a time, of an odd last one those of two rows: as
   ec_requantise_tile. */
EC_INLINE void ec_requantise_rows(const ec_requantise as, const int32_t *sums, const int32_t *multiplier,
                                  const int8_t *residual, int8_t *out, ptrdiff_t at, ptrdiff_t out_row,
                                  int rows, int columns, int nv)
{
    const int low = as.sum_right ? as.sum_low : as.low, high = as.sum_right ? as.sum_high : as.high;
    const int even = nv / 2 * 2, odd = columns - even * EC_VL;
    ec_requantise_here here;
    EC_UNROLL
    for (int j = 0; j < nv; j++)
        here.by[j] = ec_scaling_at(multiplier + j * EC_VL, as.apart);
    here.offset = ec_noffset_of(as.offset, as.right);
    if (as.sum_right) {
        here.by_sum = ec_iset1_here(as.by_sum);
        here.by_residual = ec_iset1_here(as.by_residual);
        here.sum_offset = ec_iset1_here(as.sum_offset);
    }
    EC_UNROLL
    for (int p = 0; p < rows; p++) {
        EC_UNROLL
        for (int j = 0; j < even; j += 2) {
            const int32_t *const of = sums + (p * nv + j) * EC_VL;
            const ptrdiff_t to = at + p * out_row + j * EC_VL;
            const int n = ec_min_i(columns - j * EC_VL, 2 * EC_VL);
            const ec_nvec two = ec_requantised_beside(as, &here, of, residual + to, j, n);
            if (j % 4 == 0 && columns >= (j + 4) * EC_VL)
                ec_nstore_s8_two(out + to, two,
                                 ec_requantised_beside(as, &here, of + 2 * EC_VL, residual + to + 2 * EC_VL, j + 2,
                                                       2 * EC_VL),
                                 low, high);
            else if (j % 4 == 0 || columns < (j + 2) * EC_VL)
                ec_nstore_s8(out + to, two, low, high, n);
        }
    }
    if (even == nv)
        return;
    EC_UNROLL
    for (int p = 0; p < rows; p += 2) {
        const int next = ec_min_i(1, rows - 1 - p);
        const int32_t *const of = sums + (p * nv + even) * EC_VL;
        const ptrdiff_t to = at + p * out_row + even * EC_VL;
        const ec_ivec a = ec_iload(of), b = ec_iload(of + next * nv * EC_VL);
        const ec_nvec two = ec_requantised_two(
            as, &here, a, b, even, even,
            as.has_residual ? ec_nload_s8_rows(residual + to, next * out_row, odd) : ec_narrow(a, a));
        ec_nstore_s8_rows(out + to, next * out_row, two, low, high, odd);
    }
}
#elif defined(EC_STORES_ROWS)
/* `side` vectors of each of `rows` rows, four at most, to n bytes of each row; sums have rows of nv vectors. */
EC_INLINE void ec_requantise_four(const ec_requantise as, const int32_t *sums, const int32_t *multiplier,
                                  const int8_t *residual, int8_t *out, ptrdiff_t at, ptrdiff_t out_row,
                                  int rows, int side, int n, int nv)
{
    const int low = as.sum_right ? as.sum_low : as.low, high = as.sum_right ? as.sum_high : as.high;
    int8_t bytes[4 * EC_VL];
    ec_ivec q[4];
    EC_UNROLL
    for (int i = 0; i < 4; i++) {
        const int p = i / side, j = i % side;
        if (p < rows)
            q[i] = ec_requantised(as, ec_iload(sums + (p * nv + j) * EC_VL),
                                  ec_scaling_at(multiplier + j * EC_VL, as.apart), residual,
                                  at + p * out_row + j * EC_VL, ec_min_i(n - j * EC_VL, EC_VL));
        else
            q[i] = q[0];
    }
    if (n == side * EC_VL && rows * side == 4) {
        ec_istore_s8_rows(out + at, out_row, q, side, low, high);
        return;
    }
    ec_istore_s8_run(bytes, q, low, high);
    EC_UNROLL
    for (int p = 0; p < rows; p++)
        memcpy(out + at + p * out_row, bytes + p * side * EC_VL, (size_t)n);
}

/* Rows of nv vectors to bytes, four vectors at a time: as ec_requantise_tile. */
EC_INLINE void ec_requantise_rows(const ec_requantise as, const int32_t *sums, const int32_t *multiplier,
                                  const int8_t *residual, int8_t *out, ptrdiff_t at, ptrdiff_t out_row,
                                  int rows, int columns, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j += 4) {
        const int side = ec_min_i(nv - j, 4), few = 4 / side; /* vectors of a row, rows */
        const int whole = rows / few * few, n = ec_min_i(columns - j * EC_VL, side * EC_VL);
        EC_NO_UNROLL
        for (int p = 0; p < whole; p += few)
            ec_requantise_four(as, sums + (p * nv + j) * EC_VL, multiplier + j * EC_VL, residual, out,
                               at + p * out_row + j * EC_VL, out_row, few, side, n, nv);
        if (whole < rows)
            ec_requantise_four(as, sums + (whole * nv + j) * EC_VL, multiplier + j * EC_VL, residual, out,
                               at + whole * out_row + j * EC_VL, out_row, rows - whole, side, n, nv);
    }
}
#endif

/* `rows` rows of nv vectors, of which `columns` lanes exist, to elements at + p * out_row + j * out_vec
   + lane; `multiplier`: those of the first row's lanes, whole vectors. */
EC_INLINE void ec_requantise_tile(const ec_requantise as, const int32_t *sums, const int32_t *multiplier,
                                  const void *residual, void *out, ptrdiff_t at, ptrdiff_t out_row,
                                  ptrdiff_t out_vec, int rows, int columns, int nv)
{
#ifdef EC_NARROWS
    if (out_vec == EC_VL && !as.as_float) {
        ec_requantise_rows(as, sums, multiplier, residual, out, at, out_row, rows, columns, nv);
        return;
    }
#elif defined(EC_STORES_ROWS)
    if (out_vec == EC_VL && !as.as_float && (columns == nv * EC_VL || EC_IS_CONSTANT(columns))) {
        ec_requantise_rows(as, sums, multiplier, residual, out, at, out_row, rows, columns, nv);
        return;
    }
#endif
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const int n = ec_min_i(columns - j * EC_VL, EC_VL);
        const ec_scaling own = ec_scaling_at(multiplier + j * EC_VL, as.apart);
        EC_NO_UNROLL
        for (int p = 0; p < rows; p++)
            ec_requantise_lanes(as, ec_iload(sums + (p * nv + j) * EC_VL), own, residual, out,
                                at + p * out_row + j * out_vec, n);
    }
}

#endif
#endif
