/* Softmax and its logarithm along one axis, and what the epilogue makes of it; out may be x or the residual,
   if it has its format.  x_as: the format of x.  Needs ec_epilogue.h, ec_exp.h and, where the logarithm is
   taken, ec_log.h before it. */
#ifndef EC_SOFTMAX_H
#define EC_SOFTMAX_H

/* What turns x - max into the result: times the reciprocal of the sum, or minus its logarithm. */
EC_INLINE ec_vec ec_softmax_factor(ec_vec sum, int log)
{
#ifdef EC_LOG_H
    if (log)
        return ec_log(sum);
#endif
    (void)log;
    return ec_div(ec_set1(1.0f), sum);
}
EC_INLINE ec_vec ec_softmax_result(ec_vec shifted, ec_vec factor, int log)
{
    return log ? ec_sub(shifted, factor) : ec_mul(ec_exp(shifted), factor);
}

/* `rows` times n elements side by side. */
EC_INLINE void ec_softmax_rows(const ec_epilogue epilogue, const void *x, int x_as, const void *residual, void *out,
                               int rows, int n, int log)
{
    const float lowest = ec_from_bits(0xff800000u);
    const int whole = n / EC_VL * EC_VL, tail = n - whole;
    for (int r = 0; r < rows; r++) {
        const ptrdiff_t row = (ptrdiff_t)r * n, last = row + whole;
        ec_vec most = ec_read_or_as(x, last, tail, lowest, x_as), sum = ec_set1(0.0f);
        for (int i = 0; i < whole; i += EC_VL)
            most = ec_max(ec_read_as(x, row + i, EC_VL, x_as), most);
        const ec_vec peak = ec_set1(ec_reduce_max(most));
        for (int i = 0; i < whole; i += EC_VL)
            sum = ec_add(sum, ec_exp(ec_sub(ec_read_as(x, row + i, EC_VL, x_as), peak)));
        if (tail)
            sum = ec_add(sum, ec_exp(ec_sub(ec_read_or_as(x, last, tail, lowest, x_as), peak)));
        const ec_vec factor = ec_softmax_factor(ec_set1(ec_reduce_add(sum)), log);
        for (int i = 0; i < whole; i += EC_VL) {
            const ec_vec shifted = ec_sub(ec_read_as(x, row + i, EC_VL, x_as), peak);
            ec_finish(epilogue, ec_softmax_result(shifted, factor, log), residual, out, row + i, EC_VL);
        }
        if (tail) {
            const ec_vec shifted = ec_sub(ec_read_as(x, last, tail, x_as), peak);
            ec_finish(epilogue, ec_softmax_result(shifted, factor, log), residual, out, last, tail);
        }
    }
}

/* Softmax of rows of n numbers, one number at a time: exponentials, which take most of the time, are kept for the
   second pass.  held: n numbers. */
EC_INLINE void ec_softmax_held(const ec_epilogue epilogue, const void *x, int x_as, const void *residual, void *out,
                               float *held, int rows, int n)
{
    for (int r = 0; r < rows; r++) {
        const ptrdiff_t row = (ptrdiff_t)r * n;
        ec_vec peak = ec_set1(ec_from_bits(0xff800000u)), sum = ec_set1(0.0f);
        for (int i = 0; i < n; i++)
            peak = ec_max(ec_read_as(x, row + i, 1, x_as), peak);
        for (int i = 0; i < n; i++) {
            const ec_vec each = ec_exp(ec_sub(ec_read_as(x, row + i, 1, x_as), peak));
            ec_store(held + i, each);
            sum = ec_add(sum, each);
        }
        const ec_vec factor = ec_softmax_factor(sum, 0);
        for (int i = 0; i < n; i++)
            ec_finish(epilogue, ec_mul(ec_load(held + i), factor), residual, out, row + i, 1);
    }
}

/* x[outer][n][inner] along n: a vector holds neighbours of the innermost dimension. */
EC_INLINE void ec_softmax_columns(const ec_epilogue epilogue, const void *x, int x_as, const void *residual,
                                  void *out, int outer, int n, int inner, int log)
{
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < inner; i += EC_VL) {
            const int lanes = ec_min_i(EC_VL, inner - i);
            const ptrdiff_t first = (ptrdiff_t)o * n * inner + i;
            ec_vec peak = ec_read_as(x, first, lanes, x_as), sum = ec_set1(0.0f);
            for (int k = 1; k < n; k++)
                peak = ec_max(ec_read_as(x, first + (ptrdiff_t)k * inner, lanes, x_as), peak);
            for (int k = 0; k < n; k++)
                sum = ec_add(sum, ec_exp(ec_sub(ec_read_as(x, first + (ptrdiff_t)k * inner, lanes, x_as), peak)));
            const ec_vec factor = ec_softmax_factor(sum, log);
            for (int k = 0; k < n; k++) {
                const ptrdiff_t at = first + (ptrdiff_t)k * inner;
                const ec_vec shifted = ec_sub(ec_read_as(x, at, lanes, x_as), peak);
                ec_finish(epilogue, ec_softmax_result(shifted, factor, log), residual, out, at, lanes);
            }
        }
}

#endif
