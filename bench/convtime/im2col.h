/* The baseline: lowering to a matrix product (im2col) and a BLAS, as frameworks do it.  Rows are
   copied by vectors, padding is written as zeros; a pointwise convolution at stride 1 hands its
   input to the product as it is. */
typedef void bench_sgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                              const float *a, int lda, const float *b, int ldb, float beta,
                              float *c, int ldc);
bench_sgemm_call *bench_sgemm; /* cblas_sgemm, set once the library is loaded */

enum { BENCH_ROW_MAJOR = 101, BENCH_NO_TRANS = 111 }; /* of cblas.h */

/* Constants at the call; channels of one group, pads before the first slice, row and column. */
typedef struct bench_lowering {
    int groups, in_c, out_c, pointwise;
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w;
} bench_lowering;

EC_INLINE void bench_zero(float *to, int from, int end)
{
    for (int x = from; x < end; x += EC_VL)
        ec_store_n(to + x, ec_set1(0.0f), ec_min_i(end - x, EC_VL));
}

/* One output row under one kernel position: what its first pixel meets is column `first` of in. */
EC_INLINE void bench_row(const float *in, int in_w, int first, int stride, int out_w, float *to)
{
    const int lo = ec_min_i(ec_max_i(ec_ceil_div(-first, stride), 0), out_w);
    const int hi = ec_max_i(ec_min_i(ec_ceil_div(in_w - first, stride), out_w), lo);
    int x = lo;
    bench_zero(to, 0, lo);
    if (stride == 1)
        for (; x + EC_VL <= hi; x += EC_VL)
            ec_store(to + x, ec_load(in + first + x));
    else if (stride == 2)
        for (; x + EC_VL <= hi && first + 2 * (x + EC_VL) <= in_w; x += EC_VL) {
            const float *const p = in + first + 2 * x;
            ec_vec even, odd;
            ec_deinterleave(ec_load(p), ec_load(p + EC_VL), &even, &odd);
            ec_store(to + x, even);
        }
    for (; x < hi; x += EC_VL) {
        const int n = ec_min_i(hi - x, EC_VL);
        const float *const p = in + first + x * stride;
        ec_store_n(to + x, stride == 1 ? ec_load_n(p, n) : ec_load_strided(p, stride, n), n);
    }
    bench_zero(to, hi, out_w);
}

/* The matrix of one group: a row per channel and kernel position, a column per output pixel. */
EC_INLINE void bench_im2col(const bench_lowering s, const float *in, float *to)
{
    const ptrdiff_t plane = (ptrdiff_t)s.in_d * s.in_h * s.in_w;
    for (int c = 0; c < s.in_c; c++, in += plane)
        for (int kz = 0; kz < s.kernel_d; kz++)
            for (int ky = 0; ky < s.kernel_h; ky++)
                for (int kx = 0; kx < s.kernel_w; kx++)
                    for (int z = 0; z < s.out_d; z++)
                        for (int y = 0; y < s.out_h; y++, to += s.out_w) {
                            const int iz = z * s.stride_d - s.pad_d + kz * s.dilation_d;
                            const int iy = y * s.stride_h - s.pad_h + ky * s.dilation_h;
                            if (iz < 0 || iz >= s.in_d || iy < 0 || iy >= s.in_h)
                                bench_zero(to, 0, s.out_w);
                            else
                                bench_row(in + ((ptrdiff_t)iz * s.in_h + iy) * s.in_w, s.in_w,
                                          kx * s.dilation_w - s.pad_w, s.stride_w, s.out_w, to);
                        }
}

EC_INLINE void bench_im2col_gemm(const bench_lowering s, const float *in, const float *filters,
                                 float *out, float *matrix)
{
    const int depth = s.in_c * s.kernel_d * s.kernel_h * s.kernel_w;
    const int pixels = s.out_d * s.out_h * s.out_w;
    const ptrdiff_t in_step = (ptrdiff_t)s.in_c * s.in_d * s.in_h * s.in_w;
    for (int g = 0; g < s.groups; g++) {
        if (!s.pointwise)
            bench_im2col(s, in + g * in_step, matrix);
        bench_sgemm(BENCH_ROW_MAJOR, BENCH_NO_TRANS, BENCH_NO_TRANS, s.out_c, pixels, depth, 1.0f,
                    filters + (ptrdiff_t)g * s.out_c * depth, depth,
                    s.pointwise ? in + g * in_step : matrix, pixels, 0.0f,
                    out + (ptrdiff_t)g * s.out_c * pixels, pixels);
    }
}
