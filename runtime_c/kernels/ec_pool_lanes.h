/* Pooling where channels lie side by side: NCHW[EC_VL]c and NHWC.  Needs ec_pool_op.h. */
#ifndef EC_POOL_LANES_H
#define EC_POOL_LANES_H

enum { EC_POOL_STRIP = 4 }; /* output pixels whose windows are reduced together */

/* Output pixels [column, column + mr) of a row that reads `met`, n channels side by side; the windows of
   all mr pixels keep their columns kx inside the input.  `at` is the first pixel in out. */
EC_INLINE void ec_pool_strip(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                             const void *residual, void *out, ptrdiff_t at, const ec_rows met,
                             int column, int mr, const ec_taps kx, int n)
{
    const ec_window window = spec.window;
    const int ix = column * window.stride_w - window.pad_w;
    const ptrdiff_t stride = (ptrdiff_t)window.stride_w * spec.channels;
    const ec_tile_place place = {.at = at, .row = spec.channels, .rows = mr, .tail = n};
    ec_vec results[EC_POOL_STRIP];

    EC_UNROLL
    for (int p = 0; p < mr; p++)
        results[p] = ec_pool_start(spec.max);
    for (int kz = met.kz.from; kz < met.kz.to; kz++)
        for (int ky = met.ky.from; ky < met.ky.to; ky++) {
            const ptrdiff_t row = ec_row_in(window, met, kz, ky) * window.in_w + ix;
            for (int k = kx.from; k < kx.to; k++) {
                const ptrdiff_t first = (row + k * window.dilation_w) * spec.channels;
                EC_UNROLL
                for (int p = 0; p < mr; p++)
                    results[p] = ec_pool_add(spec.max, results[p],
                                             ec_read_as(in, first + p * stride, n, spec.in_as));
            }
        }
    if (!spec.max) {
        const int count = ec_pool_count_rows(spec, met) * ec_pool_count_columns(spec, column);
        const ec_vec scale = ec_set1(1.0f / (float)ec_max_i(count, 1));
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            results[p] = ec_mul(results[p], scale);
    }
    ec_tile_finish(epilogue, place, results, residual, out, 1);
}

/* Some output pixels of one row, all channels. */
EC_INLINE void ec_pool_pixels(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                              const void *residual, void *out, ptrdiff_t at, const ec_rows met,
                              int column, int mr, const ec_taps kx)
{
    const int rest = spec.channels % EC_VL;
    int c = 0;
    for (; c + EC_VL <= spec.channels; c += EC_VL)
        ec_pool_strip(spec, epilogue, ec_at(in, c, spec.in_as), residual, out, at + c, met, column, mr,
                      kx, EC_VL);
    if (rest)
        ec_pool_strip(spec, epilogue, ec_at(in, c, spec.in_as), residual, out, at + c, met, column, mr,
                      kx, rest);
}

/* The output rows [row0, row1) of NHWC or NCHW[EC_VL]c. */
EC_INLINE void ec_pool_lanes(const ec_pool spec, const ec_epilogue epilogue, const void *in,
                             const void *residual, void *out, int row0, int row1)
{
    const ec_window window = spec.window;
    /* the columns whose windows lie inside the input, and inside what an average counts */
    const int inner0 = ec_ceil_div(window.pad_w, window.stride_w);
    const int span = (window.kernel_w - 1) * window.dilation_w;
    const int inner1 =
        window.in_w > span
            ? ec_min_i(window.out_w, (window.in_w - 1 - span + window.pad_w) / window.stride_w + 1)
            : 0;
    const ptrdiff_t in_image = ec_rows_held_in(window) * window.in_w * spec.channels;
    const ptrdiff_t out_image = ec_rows_held_out(window); /* rows */
    const int rows = row1 - row0;

    for (int i = 0; i < spec.images * window.out_d * rows; i++) {
        const int y = row0 + i % rows, z = i / rows % window.out_d;
        const int image = i / (rows * window.out_d);
        const void *const of = ec_at(in, image * in_image, spec.in_as);
        const ptrdiff_t row = image * out_image + ec_row_out(window, z, y);
        const ec_rows met = ec_rows_read(window, z, y);
        for (int x = 0; x < window.out_w;) {
            const ptrdiff_t at = (row * window.out_w + x) * spec.channels;
            if (x >= inner0 && x + EC_POOL_STRIP <= inner1) {
                const ec_taps all = {.from = 0, .to = window.kernel_w};
                ec_pool_pixels(spec, epilogue, of, residual, out, at, met, x, EC_POOL_STRIP, all);
                x += EC_POOL_STRIP;
            } else {
                const ec_taps inside = ec_taps_within(x * window.stride_w - window.pad_w, window.kernel_w,
                                                      window.dilation_w, 0, window.in_w);
                ec_pool_pixels(spec, epilogue, of, residual, out, at, met, x, 1, inside);
                x += 1;
            }
        }
    }
}

#endif
