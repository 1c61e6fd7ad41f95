/* From a tile of int32 sums to int8, or to the float32 of that.  Needs ec_epilogue.h, and ec_integers_<isa>.h; without that there is
   nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_REQUANTISE_H
#define EC_REQUANTISE_H

/* The first n lanes of sums in int32 to the elements of `out` from number `at` on; the residual is
   int8 and lies likewise.  Nothing overflows: whoever chooses the numbers proves that. */
EC_INLINE void ec_requantise_lanes(const ec_requantise as, ec_ivec sum, ec_ivec multiplier,
                                   const int8_t *residual, void *out, ptrdiff_t at, int n)
{
    ec_ivec q = ec_iadd(ec_imul_high(sum, multiplier), ec_iset1(as.offset));
    q = ec_ibetween(ec_ishift_right(q, as.right), as.low, as.high);
    if (as.sum_right) {
        q = ec_iadd(ec_imul(q, ec_iset1(as.by_sum)), ec_iset1(as.sum_offset));
        if (as.has_residual)
            q = ec_iadd(q, ec_imul(ec_iload_s8(residual + at, n), ec_iset1(as.by_residual)));
        q = ec_ibetween(ec_ishift_right(q, as.sum_right), as.sum_low, as.sum_high);
    }
    if (as.as_float)
        ec_write((float *)out + at,
                 ec_mul(ec_ireal(ec_iadd(q, ec_iset1(-as.zero))), ec_set1(as.scale)), n);
    else
        ec_istore_s8((int8_t *)out + at, q, n);
}

/* Four vectors of sums, rounded once, their multipliers one behind the other, to bytes in the order of
   ec_istore_s8_four. */
EC_INLINE void ec_requantise_four(const ec_requantise as, const ec_ivec *sums, const int32_t *multiplier, int8_t *out)
{
    ec_ivec q[4];
    EC_UNROLL
    for (int j = 0; j < 4; j++) {
        const ec_ivec word = ec_imul_high(sums[j], ec_iload(multiplier + j * EC_VL));
        q[j] = ec_ishift_right(ec_iadd(word, ec_iset1(as.offset)), as.right);
    }
    ec_istore_s8_four(out, q, as.low, as.high);
}

/* `rows` rows of nv vectors, of which `columns` lanes exist, to elements at + p * out_row + j * out_vec
   + lane; `multiplier`: those of the first row's lanes, whole vectors. */
EC_INLINE void ec_requantise_tile(const ec_requantise as, const int32_t *sums, const int32_t *multiplier,
                                  const void *residual, void *out, ptrdiff_t at, ptrdiff_t out_row,
                                  ptrdiff_t out_vec, int rows, int columns, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const int n = ec_min_i(columns - j * EC_VL, EC_VL);
        const ec_ivec own = ec_iload(multiplier + j * EC_VL);
        EC_NO_UNROLL
        for (int p = 0; p < rows; p++)
            ec_requantise_lanes(as, ec_iload(sums + (p * nv + j) * EC_VL), own, residual, out,
                                at + p * out_row + j * out_vec, n);
    }
}

#endif
#endif
