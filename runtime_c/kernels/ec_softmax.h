/* Softmax and its logarithm along one axis; out may be x.  Needs ec_lanes.h, ec_exp.h and, where the
   logarithm is taken, ec_log.h before it. */
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
EC_INLINE void ec_softmax_rows(const float *x, float *out, int rows, int n, int log)
{
    const float lowest = ec_from_bits(0xff800000u);
    const int whole = n / EC_VL * EC_VL, tail = n - whole;
    for (int r = 0; r < rows; r++, x += n, out += n) {
        ec_vec most = ec_read_or(x + whole, tail, lowest), sum = ec_set1(0.0f);
        for (int i = 0; i < whole; i += EC_VL)
            most = ec_max(ec_load(x + i), most);
        const ec_vec peak = ec_set1(ec_reduce_max(most));
        for (int i = 0; i < whole; i += EC_VL)
            sum = ec_add(sum, ec_exp(ec_sub(ec_load(x + i), peak)));
        if (tail)
            sum = ec_add(sum, ec_exp(ec_sub(ec_read_or(x + whole, tail, lowest), peak)));
        const ec_vec factor = ec_softmax_factor(ec_set1(ec_reduce_add(sum)), log);
        for (int i = 0; i < whole; i += EC_VL)
            ec_store(out + i, ec_softmax_result(ec_sub(ec_load(x + i), peak), factor, log));
        if (tail)
            ec_store_n(out + whole,
                       ec_softmax_result(ec_sub(ec_load_n(x + whole, tail), peak), factor, log),
                       tail);
    }
}

/* x[outer][n][inner] along n: a vector holds neighbours of the innermost dimension. */
EC_INLINE void ec_softmax_columns(const float *x, float *out, int outer, int n, int inner, int log)
{
    for (int o = 0; o < outer; o++, x += (ptrdiff_t)n * inner, out += (ptrdiff_t)n * inner)
        for (int i = 0; i < inner; i += EC_VL) {
            const int lanes = ec_min_i(EC_VL, inner - i);
            ec_vec peak = ec_read(x + i, lanes), sum = ec_set1(0.0f);
            for (int k = 1; k < n; k++)
                peak = ec_max(ec_read(x + (ptrdiff_t)k * inner + i, lanes), peak);
            for (int k = 0; k < n; k++)
                sum = ec_add(sum,
                             ec_exp(ec_sub(ec_read(x + (ptrdiff_t)k * inner + i, lanes), peak)));
            const ec_vec factor = ec_softmax_factor(sum, log);
            for (int k = 0; k < n; k++) {
                const ptrdiff_t at = (ptrdiff_t)k * inner + i;
                const ec_vec shifted = ec_sub(ec_read(x + at, lanes), peak);
                ec_write(out + at, ec_softmax_result(shifted, factor, log), lanes);
            }
        }
}

#endif
