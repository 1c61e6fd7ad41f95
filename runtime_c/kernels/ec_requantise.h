/* From int32 sums to int8.  Needs ec_epilogue.h, and ec_int8_<isa>.h; without that there is nothing
   here. */
#ifdef EC_S8_SHIFT
#ifndef EC_REQUANTISE_H
#define EC_REQUANTISE_H

/* The first n lanes of sums in these units, to number `at` of out; |sum * unit| < 2^31 - 256.  A
   multiplication, or two multiply-adds with a residual, then what ec_s8_store does. */
EC_INLINE void ec_requantise_lanes(const ec_requantise as, ec_vec sums, ec_vec unit,
                                   const int8_t *residual, int8_t *out, ptrdiff_t at, int n)
{
    ec_vec x;
    if (as.has_residual)
        x = ec_fma(ec_read_as(residual, at, n, EC_I8), ec_set1(as.residual_scale),
                   ec_fma(sums, unit, ec_set1(as.offset)));
    else
        x = ec_mul(sums, unit);
    ec_s8_store(out + at, x, as.zero, as.least, as.most, n);
}

#endif
#endif
