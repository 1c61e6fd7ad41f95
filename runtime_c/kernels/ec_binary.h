/* Functions of two tensors with broadcasting.  An operand that has the output's size and format may be
   the output.  Needs ec_epilogue.h, ec_nest.h and, for EC_BINARY_POW, ec_pow.h before it. */
#ifndef EC_BINARY_H
#define EC_BINARY_H

enum ec_binary_kind {
    EC_BINARY_ADD,
    EC_BINARY_SUB,
    EC_BINARY_MUL,
    EC_BINARY_DIV,
    EC_BINARY_MIN,
    EC_BINARY_MAX,
    EC_BINARY_PRELU,      /* a < 0 ? a b : a */
    EC_BINARY_SQUARED_DIFFERENCE,
    EC_BINARY_POW,        /* a^b; the others take a constant b apart: */
    EC_BINARY_SQUARE,     /* a^2 */
    EC_BINARY_CUBE,       /* a^3 */
    EC_BINARY_ROOT,       /* a^(1/2) */
    EC_BINARY_RECIPROCAL, /* a^-1 */
    EC_BINARY_FIRST       /* a^1 */
};

/* out[i][r][k] over a nest of outer loops, rows and the innermost n elements; the output is dense.
   An operand moves by its outer strides, by its row stride and in a row by its stride, which is 1, or 0 where
   the operand is broadcast.  Operands are stored as a_as and b_as.  All members are constants at the
   call. */
typedef struct ec_binary {
    int kind;
    ec_nest outer;
    int rows, n;
    ptrdiff_t a_outer[EC_DIMS], b_outer[EC_DIMS];
    ptrdiff_t a_row, b_row;
    int a_stride, b_stride;
    int a_as, b_as;
} ec_binary;

EC_INLINE ec_vec ec_binary_apply(int kind, ec_vec a, ec_vec b)
{
    (void)b; /* of which some kinds have no use */
    switch (kind) {
    case EC_BINARY_ADD: return ec_add(a, b);
    case EC_BINARY_SUB: return ec_sub(a, b);
    case EC_BINARY_MUL: return ec_mul(a, b);
    case EC_BINARY_DIV: return ec_div(a, b);
    case EC_BINARY_MIN: return ec_minimum(a, b);
    case EC_BINARY_MAX: return ec_maximum(a, b);
    case EC_BINARY_PRELU: return ec_select_lt(a, ec_set1(0.0f), ec_mul(a, b), a);
    case EC_BINARY_SQUARED_DIFFERENCE: return ec_mul(ec_sub(a, b), ec_sub(a, b));
#ifdef EC_POW_H
    case EC_BINARY_POW: return ec_pow(a, b);
#endif
    case EC_BINARY_SQUARE: return ec_mul(a, a);
    case EC_BINARY_CUBE: return ec_mul(ec_mul(a, a), a);
    case EC_BINARY_ROOT: return ec_sqrt(a);
    case EC_BINARY_RECIPROCAL: return ec_div(ec_set1(1.0f), a);
    default: return a;
    }
}

/* n <= EC_VL elements of an operand from number i on, or that one element in every lane. */
EC_INLINE ec_vec ec_binary_operand(const void *p, ptrdiff_t i, int stride, int n, int fmt)
{
    return stride ? ec_read_as(p, i, n, fmt) : ec_set1_as(ec_at(p, i, fmt), fmt);
}

/* Rows of at most one vector.  The vector of an operand that all rows share is loaded once. */
EC_INLINE void ec_binary_columns(const ec_binary *spec, const ec_epilogue epilogue, const void *a,
                                 const void *b, const void *residual, void *out, ptrdiff_t at)
{
    const ec_vec a0 = ec_binary_operand(a, 0, spec->a_stride, spec->n, spec->a_as);
    const ec_vec b0 = ec_binary_operand(b, 0, spec->b_stride, spec->n, spec->b_as);
    for (int r = 0; r < spec->rows; r++, at += spec->n) {
        const ec_vec x =
            !spec->a_row ? a0 : ec_binary_operand(a, r * spec->a_row, spec->a_stride, spec->n,
                                                  spec->a_as);
        const ec_vec y =
            !spec->b_row ? b0 : ec_binary_operand(b, r * spec->b_row, spec->b_stride, spec->n,
                                                  spec->b_as);
        ec_finish(epilogue, ec_binary_apply(spec->kind, x, y), residual, out, at, spec->n);
    }
}

/* One long row. */
EC_INLINE void ec_binary_row(const ec_binary *spec, const ec_epilogue epilogue, const void *a,
                             const void *b, const void *residual, void *out, ptrdiff_t at EC_WORKER(, int from, int to))
{
    /* a and b may lie in out: read them now */
    const ec_vec a0 = ec_set1_as(a, spec->a_as), b0 = ec_set1_as(b, spec->b_as);
    const int tail = EC_WORKER_OR(to, spec->n) % EC_VL;
    int k = EC_WORKER_OR(from, 0);
    for (; k + EC_VL <= EC_WORKER_OR(to, spec->n); k += EC_VL) {
        const ec_vec x = spec->a_stride ? ec_read_as(a, k, EC_VL, spec->a_as) : a0;
        const ec_vec y = spec->b_stride ? ec_read_as(b, k, EC_VL, spec->b_as) : b0;
        ec_finish(epilogue, ec_binary_apply(spec->kind, x, y), residual, out, at + k, EC_VL);
    }
    if (tail) {
        const ec_vec x = spec->a_stride ? ec_read_as(a, k, tail, spec->a_as) : a0;
        const ec_vec y = spec->b_stride ? ec_read_as(b, k, tail, spec->b_as) : b0;
        ec_finish(epilogue, ec_binary_apply(spec->kind, x, y), residual, out, at + k, tail);
    }
}

EC_INLINE void ec_binary_run(const ec_binary *spec, const ec_epilogue epilogue, const void *a,
                             const void *b, const void *residual, void *out EC_WORKER(, int from, int to))
{
    const int count = ec_nest_count(&spec->outer);
    for (int i = EC_WORKER_OR(count > 1 ? from : 0, 0); i < EC_WORKER_OR((count > 1 ? to : 1), count); i++) {
        const void *pa = ec_at(a, ec_nest_offset(&spec->outer, spec->a_outer, i), spec->a_as);
        const void *pb = ec_at(b, ec_nest_offset(&spec->outer, spec->b_outer, i), spec->b_as);
        const ptrdiff_t at = (ptrdiff_t)i * spec->rows * spec->n;
        if (spec->n <= EC_VL)
            ec_binary_columns(spec, epilogue, pa, pb, residual, out, at);
        else
            for (int r = EC_WORKER_OR(count == 1 && spec->rows > 1 ? from : 0, 0); r < EC_WORKER_OR((count == 1 && spec->rows > 1 ? to : spec->rows), spec->rows); r++)
                ec_binary_row(spec, epilogue, ec_at(pa, r * spec->a_row, spec->a_as),
                              ec_at(pb, r * spec->b_row, spec->b_as), residual, out,
                              at + (ptrdiff_t)r * spec->n EC_WORKER(, count == 1 && spec->rows == 1 ? from : 0, count == 1 && spec->rows == 1 ? to : spec->n));
    }
}

#endif
