/* Convolutions and fully connected layers of int8, channels last: four filters at a time, for Helium.

   A window lies in memory as it is read, or is copied to the workspace: kernel rows, columns, channels.
   Filters lie in blocks of four, 16 numbers of the first, of the second, of the third, of the fourth, then the next
   16.  channels: of every four filters the starts, then the scalings (ec_int8_scaling.h).  What is beyond
   a filter's end or the last filter is zeros.  Filters with zero points have these behind, negative: by_sum,
   what of every filter the sum of the window is multiplied by.  Needs ec_int8_channels.h, ec_int8_panel.h. */
#ifndef EC_INT8_1X4_H
#define EC_INT8_1X4_H

#ifdef EC_INT8_HELIUM
#include "ec_int8_helium.h"
#endif

/* Bytes of four filters. */
EC_INLINE ptrdiff_t ec_int8_1x4_bytes(int n) { return ec_ceil_div(n, 16) * (ptrdiff_t)64; }

/* n numbers of each window, one behind the other, and how many windows there are: from one to the next so many elements of
   the input and of the result. */
typedef struct ec_int8_numbers {
    const int8_t *in;
    int n, pixels;
    ptrdiff_t in_pixel, out_pixel;
#ifdef EC_ZERO_POINTS
    int32_t sum; /* of one window */
    const int32_t *by_sum; /* NULL: filters have no zero points */
#endif
} ec_int8_numbers;

/* `blocks` of filters of each window: out[filter]. */
EC_INLINE void ec_int8_1x4(ec_int8_result result, ec_int8_numbers window, const int8_t *filters,
                           const int32_t *channels, int blocks, int8_t *out)
{
#ifdef EC_INT8_HELIUM
    const ec_int8_1x4_job job = {
        .filters = filters, .n = window.n, .channels = channels, .out = out, .out_end = out + 4 * blocks,
        .offset = result.offset, .left = -result.right, .low = result.low, .high = result.high,
        .pixels = window.pixels, .in_pixel = window.in_pixel, .out_pixel = window.out_pixel,
        .gap = window.out_pixel - 4 * blocks,
#ifdef EC_ZERO_POINTS
        .sum = window.sum, .by_sum = window.by_sum,
#endif
        .in = window.in};
#ifdef EC_ZERO_POINTS
    if (window.by_sum) {
        ec_int8_1x4_around_helium(&job);
        return;
    }
#endif
    ec_int8_1x4_helium(&job);
#else
    for (int p = 0; p < window.pixels; p++, window.in += window.in_pixel, out += window.out_pixel) {
        const int8_t *four = filters;
        const int32_t *own = channels;
        for (int j = 0; j < blocks; j++, four += ec_int8_1x4_bytes(window.n), own += 4 * EC_INT8_WORDS) {
            int32_t sums[4] = {own[0], own[1], own[2], own[3]};
            for (int k = 0; k < window.n; k++)
                for (int i = 0; i < 4; i++)
                    sums[i] += window.in[k] * four[k / 16 * 64 + 16 * i + k % 16];
#ifdef EC_ZERO_POINTS
            for (int i = 0; window.by_sum && i < 4; i++)
                sums[i] += window.by_sum[4 * j + i] * window.sum;
#endif
            for (int i = 0; i < 4; i++)
                out[4 * j + i] = ec_int8_of_sum(result, sums[i], own + 4 + i, 4);
        }
    }
#endif
}

/* One window under all filters. */
EC_INLINE void ec_int8_pixel_1x4(ec_int8_result result, ec_int8_numbers window, const int8_t *filters,
                                 const int32_t *channels, int out_c, int8_t *out)
{
    const int blocks = out_c / 4, rest = out_c % 4;
    window.pixels = 1;
    if (blocks)
        ec_int8_1x4(result, window, filters, channels, blocks, out);
    if (rest) {
        int8_t last[4];
#ifdef EC_ZERO_POINTS
        window.by_sum = window.by_sum ? window.by_sum + 4 * blocks : NULL;
#endif
        ec_int8_1x4(result, window, filters + blocks * ec_int8_1x4_bytes(window.n),
                    channels + 4 * EC_INT8_WORDS * blocks, 1, last);
        for (int i = 0; i < rest; i++)
            out[4 * blocks + i] = last[i];
    }
}

/* All windows under all filters, one window after the other: a result may lie over those before. */
EC_INLINE void ec_int8_pixels_1x4(ec_int8_result result, ec_int8_numbers window, const int8_t *filters,
                                  const int32_t *channels, int out_c, int8_t *out)
{
    if (out_c % 4 == 0) {
        ec_int8_1x4(result, window, filters, channels, out_c / 4, out);
        return;
    }
    for (int p = window.pixels; p > 0; p--, window.in += window.in_pixel, out += window.out_pixel)
        ec_int8_pixel_1x4(result, window, filters, channels, out_c, out);
}

#ifdef EC_ZERO_POINTS
/* One window under all filters, which have zero points. */
EC_INLINE void ec_int8_pixel_around(ec_int8_result result, ec_int8_numbers window, const int8_t *filters,
                                    const int32_t *channels, int out_c, int8_t *out)
{
    window.sum = ec_sum_of_inputs(window.in, window.n);
    window.by_sum = channels + 4 * EC_INT8_WORDS * ec_ceil_div(out_c, 4);
    ec_int8_pixel_1x4(result, window, filters, channels, out_c, out);
}
#endif

EC_INLINE void ec_int8_copy(int8_t *to, const int8_t *from, int n)
{
#ifdef EC_INT8_HELIUM
    ec_int8_copy_helium(to, from, n);
#else
    memcpy(to, from, (size_t)n);
#endif
}

/* The window of output pixel (y, x), copied. */
EC_SHARED void ec_int8_copy_window(const ec_int8_conv *spec, const int8_t *in, int padding, int8_t *to, int y, int x)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, c = spec->in_c;
    const int tall = (w->kernel_h - 1) * w->dilation_h, row_bytes = w->kernel_w * c;
    const int whole = in_y >= 0 && in_x >= 0 && in_y + tall < w->in_h && in_x + w->kernel_w <= w->in_w;
    if (whole && w->dilation_w == 1 && spec->in_pixel == c && !w->in_ring) {
        const int8_t *from = in + in_y * spec->in_row + in_x * c;
        for (int ky = 0; ky < w->kernel_h; ky++, to += row_bytes, from += w->dilation_h * spec->in_row)
            ec_int8_copy(to, from, row_bytes);
        return;
    }
    const ec_taps columns = ec_taps_within(in_x, w->kernel_w, w->dilation_w, 0, w->in_w);
    for (int ky = 0; ky < w->kernel_h; ky++, to += w->kernel_w * c) {
        const int at_y = in_y + ky * w->dilation_h;
        const int outside = at_y < 0 || at_y >= w->in_h || columns.from >= columns.to;
        const int from = outside ? w->kernel_w : columns.from, end = outside ? w->kernel_w : columns.to;
        if (from > 0)
            memset(to, padding, (size_t)(from * c));
        if (end < w->kernel_w)
            memset(to + end * c, padding, (size_t)((w->kernel_w - end) * c));
        const int8_t *const row = in + ec_ring(at_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel;
        if (w->dilation_w == 1 && spec->in_pixel == c && from < end)
            ec_int8_copy(to + from * c, row + from * c, (end - from) * c);
        else
            for (int kx = from; kx < end; kx++)
                ec_int8_copy(to + kx * c, row + kx * w->dilation_w * spec->in_pixel, c);
    }
}

enum { EC_INT8_ROW_1X4 = 16, EC_INT8_COPIED_1X4 = 128 };

/* Whether windows are no pixels of the input. */
EC_INLINE int ec_int8_is_copied_1x4(const ec_window *window)
{
    return window->kernel_h * window->kernel_w > 1 || window->pad_h || window->pad_w;
}

/* Windows that the workspace has at a time: of rows that a vector of Helium has, as many as fit some bytes. */
EC_INLINE int ec_int8_windows_1x4(const ec_int8_conv *spec)
{
    const int row = spec->window.kernel_w * spec->in_c, is_short = row <= EC_INT8_ROW_1X4;
    return is_short && ec_int8_is_copied_1x4(&spec->window) ? ec_max_i(EC_INT8_COPIED_1X4 / (row * spec->window.kernel_h), 1) : 1;
}
/* And its bytes. */
EC_INLINE int ec_int8_window_bytes_1x4(const ec_int8_conv *spec)
{
    const int one = spec->window.kernel_h * spec->window.kernel_w * spec->in_c;
    return ec_ceil_div(one * ec_int8_windows_1x4(spec), 4) * 4;
}

/* How many windows from output pixel (y, x) on are copied together: if they lie in the input, row by row in one piece. */
EC_INLINE int ec_int8_beside_1x4(const ec_int8_conv *spec, int y, int x, int most)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, tall = (w->kernel_h - 1) * w->dilation_h;
    const int beyond = w->in_w - w->kernel_w - in_x;
    if (w->dilation_w > 1 || spec->in_pixel != spec->in_c || in_y < 0 || in_y + tall >= w->in_h || in_x < 0 || beyond < 0 ||
        (w->in_ring && ec_ring(in_y, w->in_ring) + tall >= w->in_ring))
        return 0;
    return ec_min_i(ec_min_i(beyond / w->stride_w + 1, w->out_w - x), most);
}

/* So many windows from output pixel (y, x) on, copied. */
EC_INLINE void ec_int8_copy_windows(const ec_int8_conv *spec, const int8_t *in, int8_t *to, int y, int x, int count)
{
    const ec_window *w = &spec->window;
    const int row = w->kernel_w * spec->in_c;
    const ptrdiff_t below = w->dilation_h * spec->in_row, apart = w->stride_w * spec->in_c;
    const int8_t *from = in + ec_ring(y * w->stride_h - w->pad_h, w->in_ring) * spec->in_row + x * apart - w->pad_w * spec->in_c;
#ifdef EC_INT8_HELIUM
    ec_int8_copy_windows_helium(to, from, row, w->kernel_h, below, apart, count);
#else
    for (int i = 0; i < count; i++, from += apart)
        for (int ky = 0; ky < w->kernel_h; ky++, to += row)
            memcpy(to, from + ky * below, (size_t)row);
#endif
}

/* Rows [row0, row1) of the output.  workspace: windows (ec_int8_window_bytes_1x4), unless the kernel is 1 x 1 and nothing
   padded. */
EC_SHARED void ec_int8_convolve_1x4(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                    const int32_t *channels, int8_t *out, int8_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int n = w->kernel_h * w->kernel_w * spec->in_c;
    const int copied = ec_int8_is_copied_1x4(w);
    int windows = ec_int8_windows_1x4(spec);
    const ptrdiff_t in_pixel = w->stride_w * spec->in_pixel, out_pixel = spec->out_pixel;
    int one_by_one = copied;
#ifdef EC_ZERO_POINTS
    one_by_one |= spec->sums_of_inputs;
    windows = spec->sums_of_inputs ? 1 : windows;
#endif
    const int behind = w->stride_h == 1 && !w->in_ring && !w->out_ring && spec->in_row == w->out_w * in_pixel &&
                       spec->out_row == w->out_w * out_pixel;
    const int together = one_by_one || !behind ? 1 : row1 - row0;
    for (int y = row0; y < row1; y += together) {
        const int8_t *from = in + ec_ring(y * w->stride_h, w->in_ring) * spec->in_row;
        int8_t *to = out + ec_ring(y, w->out_ring) * spec->out_row;
        if (!one_by_one) {
            const ec_int8_numbers rows = {.in = from, .n = n, .pixels = together * w->out_w, .in_pixel = in_pixel,
                                          .out_pixel = out_pixel};
            ec_int8_pixels_1x4(spec->result, rows, filters, channels, spec->out_c, to);
            continue;
        }
        for (int x = 0; x < w->out_w; x++, from += in_pixel, to += out_pixel) {
            const int beside = windows > 1 ? ec_int8_beside_1x4(spec, y, x, windows) : 0;
            if (beside > 1) {
                ec_int8_copy_windows(spec, in, workspace, y, x, beside);
                const ec_int8_numbers all = {.in = workspace, .n = n, .pixels = beside, .in_pixel = n, .out_pixel = out_pixel};
                ec_int8_pixels_1x4(spec->result, all, filters, channels, spec->out_c, to);
                x += beside - 1, to += (beside - 1) * out_pixel;
                continue;
            }
            if (copied)
                ec_int8_copy_window(spec, in, spec->padding, workspace, y, x);
            const ec_int8_numbers window = {.in = copied ? workspace : from, .n = n};
#ifdef EC_ZERO_POINTS
            if (spec->sums_of_inputs) {
                ec_int8_pixel_around(spec->result, window, filters, channels, spec->out_c, to);
                continue;
            }
#endif
            ec_int8_pixel_1x4(spec->result, window, filters, channels, spec->out_c, to);
        }
    }
}

/* `rows` of in_c numbers to as many of out_c. */
EC_SHARED void ec_int8_dense_1x4(const ec_int8_result *result, const int8_t *in, int in_c, const int8_t *filters,
                                 const int32_t *channels, int out_c, int8_t *out, int rows)
{
    const ec_int8_numbers all = {.in = in, .n = in_c, .pixels = rows, .in_pixel = in_c, .out_pixel = out_c};
    ec_int8_pixels_1x4(*result, all, filters, channels, out_c, out);
}

#ifdef EC_ZERO_POINTS
/* A dense layer, row by row, whose filters have zero points. */
EC_SHARED void ec_int8_dense_1x4_around(const ec_int8_result *result, const int8_t *in, int in_c,
                                        const int8_t *filters, const int32_t *channels, int out_c, int8_t *out,
                                        int rows)
{
    for (int row = 0; row < rows; row++, in += in_c, out += out_c)
        ec_int8_pixel_around(*result, (ec_int8_numbers){.in = in, .n = in_c}, filters, channels, out_c, out);
}
#endif

#endif
