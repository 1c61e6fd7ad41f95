/* Sums, extremes and products over any dimensions.  Needs ec_epilogue.h and ec_nest.h. */
#ifndef EC_REDUCE_H
#define EC_REDUCE_H

enum ec_reduce_kind {
    EC_REDUCE_SUM,
    EC_REDUCE_MEAN,
    EC_REDUCE_L1,         /* sum of |x| */
    EC_REDUCE_L2,         /* square root of the sum of x^2 */
    EC_REDUCE_SUM_SQUARE, /* sum of x^2 */
    EC_REDUCE_MAX,
    EC_REDUCE_MIN,
    EC_REDUCE_PROD
};

/* The input is `kept` times `reduced` loops around n elements side by side, which are reduced
   themselves (ec_reduce_rows) or kept (ec_reduce_columns); the output is dense.  All members are
   constants at the call. */
typedef struct ec_reduce {
    int kind;
    float factor; /* of a mean */
    ec_nest kept, reduced;
    ptrdiff_t kept_strides[EC_DIMS], reduced_strides[EC_DIMS];
    int n;
    int in_as; /* the format of the input, EC_F32 where nothing is said */
} ec_reduce;

enum { EC_REDUCE_CHAINS = 4 }; /* accumulators, so that additions need not wait for each other */

/* What changes no result. */
EC_INLINE float ec_reduce_neutral(int kind)
{
    switch (kind) {
    case EC_REDUCE_MAX: return ec_from_bits(0xff800000u);
    case EC_REDUCE_MIN: return ec_from_bits(0x7f800000u);
    case EC_REDUCE_PROD: return 1.0f;
    default: return 0.0f;
    }
}

/* Two results become one. */
EC_INLINE ec_vec ec_reduce_join(int kind, ec_vec a, ec_vec b)
{
    switch (kind) {
    case EC_REDUCE_MAX: return ec_maximum(a, b);
    case EC_REDUCE_MIN: return ec_minimum(a, b);
    case EC_REDUCE_PROD: return ec_mul(a, b);
    default: return ec_add(a, b);
    }
}

EC_INLINE ec_vec ec_reduce_add_element(int kind, ec_vec sum, ec_vec x)
{
    switch (kind) {
    case EC_REDUCE_L1: return ec_add(sum, ec_abs(x));
    case EC_REDUCE_L2:
    case EC_REDUCE_SUM_SQUARE: return ec_fma(x, x, sum);
    default: return ec_reduce_join(kind, sum, x);
    }
}

EC_INLINE void ec_reduce_start(int kind, ec_vec acc[EC_REDUCE_CHAINS])
{
    EC_UNROLL
    for (int u = 0; u < EC_REDUCE_CHAINS; u++)
        acc[u] = ec_set1(ec_reduce_neutral(kind));
}

EC_INLINE ec_vec ec_reduce_join_all(int kind, const ec_vec acc[EC_REDUCE_CHAINS])
{
    return ec_reduce_join(kind, ec_reduce_join(kind, acc[0], acc[1]),
                          ec_reduce_join(kind, acc[2], acc[3]));
}

/* Final function of a vector of results, epilogue and store. */
EC_INLINE void ec_reduce_finish(const ec_reduce *spec, const ec_epilogue epilogue, ec_vec x,
                                const void *residual, void *out, ptrdiff_t at, int n)
{
    if (spec->kind == EC_REDUCE_MEAN)
        x = ec_mul(x, ec_set1(spec->factor));
    if (spec->kind == EC_REDUCE_L2)
        x = ec_sqrt(x);
    ec_finish(epilogue, x, residual, out, at, n);
}

/* The lanes of a vector become one number. */
EC_INLINE float ec_reduce_lanes(int kind, ec_vec x)
{
    if (kind == EC_REDUCE_MAX)
        return ec_reduce_max(x);
    if (kind == EC_REDUCE_MIN)
        return ec_reduce_min(x);
    if (kind != EC_REDUCE_PROD)
        return ec_reduce_add(x);
    float lanes[EC_VL], product = 1.0f;
    ec_store(lanes, x);
    for (int i = 0; i < EC_VL; i++)
        product *= lanes[i];
    return product;
}

/* n < EC_VL elements, the other lanes neutral. */
EC_INLINE ec_vec ec_reduce_load_n(int kind, const void *p, int n, int fmt)
{
    if (ec_reduce_neutral(kind) == 0.0f)
        return ec_load_as_n(p, n, fmt);
    float lanes[EC_VL];
    ec_store(lanes, ec_set1(ec_reduce_neutral(kind)));
    for (int i = 0; i < n; i++)
        lanes[i] = ec_get_as(ec_at(p, i, fmt), fmt);
    return ec_load(lanes);
}

/* One result of rows that are reduced themselves. */
EC_INLINE float ec_reduce_row(const ec_reduce *spec, const void *in)
{
    const int count = ec_nest_count(&spec->reduced), tail = spec->n % EC_VL;
    ec_vec acc[EC_REDUCE_CHAINS];
    ec_reduce_start(spec->kind, acc);
    for (int i = 0; i < count; i++) {
        const ptrdiff_t row = ec_nest_offset(&spec->reduced, spec->reduced_strides, i);
        int k = 0;
        for (; k + EC_REDUCE_CHAINS * EC_VL <= spec->n; k += EC_REDUCE_CHAINS * EC_VL)
            EC_UNROLL
            for (int u = 0; u < EC_REDUCE_CHAINS; u++)
                acc[u] = ec_reduce_add_element(
                    spec->kind, acc[u], ec_read_as(in, row + k + u * EC_VL, EC_VL, spec->in_as));
        for (; k + EC_VL <= spec->n; k += EC_VL)
            acc[0] = ec_reduce_add_element(spec->kind, acc[0],
                                           ec_read_as(in, row + k, EC_VL, spec->in_as));
        if (tail)
            acc[1] = ec_reduce_add_element(
                spec->kind, acc[1],
                ec_reduce_load_n(spec->kind, ec_at(in, row + k, spec->in_as), tail, spec->in_as));
    }
    return ec_reduce_lanes(spec->kind, ec_reduce_join_all(spec->kind, acc));
}

EC_INLINE void ec_reduce_rows(const ec_reduce *spec, const ec_epilogue epilogue, const void *in,
                              const void *residual, void *out EC_WORKER(, int from, int to))
{
    const int count = ec_nest_count(&spec->kept);
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i += EC_VL) {
        const int n = ec_min_i(EC_VL, count - i);
        float lanes[EC_VL] = {0.0f};
        for (int j = 0; j < n; j++)
            lanes[j] = ec_reduce_row(
                spec, ec_at(in, ec_nest_offset(&spec->kept, spec->kept_strides, i + j),
                            spec->in_as));
        ec_reduce_finish(spec, epilogue, ec_load(lanes), residual, out, i, n);
    }
}

/* n results of elements that are kept.  wide: the accumulators are EC_REDUCE_CHAINS vectors side by
   side, n = EC_VL of each; otherwise they take turns with the rows. */
EC_INLINE void ec_reduce_strip(const ec_reduce *spec, const ec_epilogue epilogue, const void *in,
                               const void *residual, void *out, ptrdiff_t at, int wide, int n)
{
    const int count = ec_nest_count(&spec->reduced);
    const int rows = spec->reduced.size[spec->reduced.dims - 1];
    const ptrdiff_t row_stride = spec->reduced_strides[spec->reduced.dims - 1];
    const ptrdiff_t stride = wide ? EC_VL : row_stride;
    const int at_once = wide ? 1 : EC_REDUCE_CHAINS;
    ec_vec acc[EC_REDUCE_CHAINS];
    ec_reduce_start(spec->kind, acc);
    for (int i = 0; i < count; i += rows) {
        ptrdiff_t row = ec_nest_offset(&spec->reduced, spec->reduced_strides, i);
        int r = 0;
        for (; r + at_once <= rows; r += at_once, row += at_once * row_stride)
            EC_UNROLL
            for (int u = 0; u < EC_REDUCE_CHAINS; u++)
                acc[u] = ec_reduce_add_element(spec->kind, acc[u],
                                               ec_read_as(in, row + u * stride, n, spec->in_as));
        for (; r < rows; r++, row += row_stride)
            acc[0] = ec_reduce_add_element(spec->kind, acc[0], ec_read_as(in, row, n, spec->in_as));
    }
    if (wide) {
        EC_UNROLL
        for (int u = 0; u < EC_REDUCE_CHAINS; u++)
            ec_reduce_finish(spec, epilogue, acc[u], residual, out, at + u * EC_VL, n);
    } else {
        ec_reduce_finish(spec, epilogue, ec_reduce_join_all(spec->kind, acc), residual, out, at, n);
    }
}

EC_INLINE void ec_reduce_columns(const ec_reduce *spec, const ec_epilogue epilogue, const void *in,
                                 const void *residual, void *out EC_WORKER(, int from, int to))
{
    const int count = ec_nest_count(&spec->kept), tail = spec->n % EC_VL;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++) {
        const ptrdiff_t a = ec_nest_offset(&spec->kept, spec->kept_strides, i);
        const ptrdiff_t at = (ptrdiff_t)i * spec->n;
        int k = 0;
        for (; k + EC_REDUCE_CHAINS * EC_VL <= spec->n; k += EC_REDUCE_CHAINS * EC_VL)
            ec_reduce_strip(spec, epilogue, ec_at(in, a + k, spec->in_as), residual, out, at + k,
                            1, EC_VL);
        for (; k + EC_VL <= spec->n; k += EC_VL)
            ec_reduce_strip(spec, epilogue, ec_at(in, a + k, spec->in_as), residual, out, at + k,
                            0, EC_VL);
        if (tail)
            ec_reduce_strip(spec, epilogue, ec_at(in, a + k, spec->in_as), residual, out, at + k,
                            0, tail);
    }
}

#endif
