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

enum { EC_INT8_BEYOND_1X4 = 16 }; /* bytes beyond the last filter that are read */

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

enum { EC_INT8_LONG_1X4 = 64 }; /* the most numbers of a window that registers hold, so that results may lie over it */

#ifdef EC_INT8_HELIUM
/* Windows that are multiplied together, of n numbers each. */
EC_INLINE int ec_int8_tile_1x4(int n) { return n <= 16 || n > EC_INT8_LONG_1X4 ? 3 : 1; }

/* `tiles` of so many windows. */
EC_INLINE void ec_int8_tiles_1x4(ec_int8_tiles_job *job, int windows, int tiles)
{
    job->tiles = tiles;
    job->in_tile = windows * job->in_pixel, job->out_tile = windows * job->out_pixel;
    /* Calls by name, whose stack can be bounded. */
    if (job->n > EC_INT8_LONG_1X4 && windows > 1)
        ec_int8_3x2_helium(job);
    else if (job->n > EC_INT8_LONG_1X4)
        ec_int8_1x4_helium(job);
    else if (job->n > 48)
        ec_int8_held_64_helium(job);
    else if (job->n > 32)
        ec_int8_held_48_helium(job);
    else if (job->n > 16)
        ec_int8_held_32_helium(job);
    else if (windows > 1)
        ec_int8_held_16_by_3_helium(job);
    else
        ec_int8_held_16_helium(job);
}
#endif

/* `blocks` of filters of each window: out[filter]. */
EC_INLINE void ec_int8_1x4(ec_int8_result result, ec_int8_numbers window, const int8_t *filters,
                           const int32_t *channels, int blocks, int8_t *out)
{
#ifdef EC_INT8_HELIUM
    const int tile = ec_int8_tile_1x4(window.n), tiles = tile == 1 ? window.pixels : window.pixels / 3;
    const int whole = tiles * tile, rest = window.pixels - whole;
    ec_int8_tiles_job job; /* member by member: else compilers call memset first */
    job.in = window.in, job.in_pixel = window.in_pixel, job.n = window.n;
    job.in_tile = 0, job.out_tile = 0, job.tiles = 1;
    job.last = (int)((unsigned)(window.n - 1) % 16 + 1);
    job.filters = filters, job.filters_bytes = ec_int8_1x4_bytes(window.n);
    job.channels = channels, job.blocks = blocks;
    job.out = out, job.out_pixel = window.out_pixel;
    job.added = EC_INT8_ADDED(result), job.left = EC_INT8_LEFT(result);
#ifdef EC_ZERO_POINTS
    job.sum = window.sum, job.by_sum = window.by_sum;
    if (window.by_sum)
        ec_int8_1x4_around_helium(&job);
    else
#endif
    {
        if (whole)
            ec_int8_tiles_1x4(&job, tile, tiles);
        job.in += whole * window.in_pixel, job.out += whole * window.out_pixel;
        if (rest)
            ec_int8_tiles_1x4(&job, 1, rest);
    }
    if (result.low > INT8_MIN || result.high < INT8_MAX)
        ec_int8_bound_helium(result, out, 4 * blocks, window.out_pixel, window.pixels);
#else
    for (int p = 0; p < window.pixels; p++, window.in += window.in_pixel, out += window.out_pixel) {
        const int8_t *four = filters, *numbers = window.in;
        const int32_t *own = channels;
        int8_t held[EC_INT8_LONG_1X4];
        if (window.n <= EC_INT8_LONG_1X4)
            numbers = memcpy(held, window.in, (size_t)window.n);
        for (int j = 0; j < blocks; j++, four += ec_int8_1x4_bytes(window.n), own += 4 * EC_INT8_WORDS) {
            int32_t sums[4] = {own[0], own[1], own[2], own[3]};
            for (int k = 0; k < window.n; k++)
                for (int i = 0; i < 4; i++)
                    sums[i] += numbers[k] * four[k / 16 * 64 + 16 * i + k % 16];
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

/* n bytes become `padding`. */
EC_INLINE void ec_int8_fill_1x4(int8_t *to, int padding, int n)
{
#ifdef EC_INT8_HELIUM
    ec_int8_fill_helium(to, padding, n);
#else
    if (n > 0)
        memset(to, padding, (size_t)n);
#endif
}

/* Row ky of the windows of output row y; NULL where it lies outside of the input. */
EC_INLINE const int8_t *ec_int8_row_1x4(const ec_int8_conv *spec, const int8_t *in, int y, int ky)
{
    const ec_window *w = &spec->window;
    const int at = y * w->stride_h - w->pad_h + ky * w->dilation_h;
    return at < 0 || at >= w->in_h ? NULL : in + ec_ring(at, w->in_ring) * spec->in_row;
}

/* A row of the window that begins at column in_x of a `row` of the input, copied. */
EC_SHARED void ec_int8_copy_row_1x4(const ec_int8_conv *spec, const int8_t *row, int padding, int8_t *to, int in_x)
{
    const ec_window *w = &spec->window;
    const int c = spec->in_c;
    const ec_taps columns = ec_taps_within(in_x, w->kernel_w, w->dilation_w, 0, w->in_w);
    const int some = row && columns.from < columns.to;
    const int from = some ? columns.from : w->kernel_w, end = some ? columns.to : w->kernel_w;
    ec_int8_fill_1x4(to, padding, from * c);
    ec_int8_fill_1x4(to + end * c, padding, (w->kernel_w - end) * c);
    if (w->dilation_w == 1 && spec->in_pixel == c && from < end)
        ec_int8_copy(to + from * c, row + (in_x + from) * c, (end - from) * c);
    else
        for (int kx = from; kx < end; kx++)
            ec_int8_copy(to + kx * c, row + (in_x + kx * w->dilation_w) * spec->in_pixel, c);
}

/* The window of output pixel (y, x), copied. */
EC_INLINE void ec_int8_copy_window(const ec_int8_conv *spec, const int8_t *in, int padding, int8_t *to, int y, int x)
{
    const ec_window *w = &spec->window;
    for (int ky = 0; ky < w->kernel_h; ky++)
        ec_int8_copy_row_1x4(spec, ec_int8_row_1x4(spec, in, y, ky), padding, to + ky * w->kernel_w * spec->in_c,
                         x * w->stride_w - w->pad_w);
}

enum { EC_INT8_COPIED_1X4 = 256, EC_INT8_COPIED_LONG_1X4 = 2048 };

/* Whether windows are no pixels of the input, or some lie outside, maybe behind the last one alone. */
EC_INLINE int ec_int8_is_copied_1x4(const ec_window *window)
{
    const int inside = (window->out_h - 1) * window->stride_h < window->in_h && (window->out_w - 1) * window->stride_w < window->in_w;
    return window->kernel_h * window->kernel_w > 1 || window->pad_h || window->pad_w || !inside;
}

/* Windows that the workspace has at a time: as many as fit some bytes, or a tile, if that fits more. */
EC_INLINE int ec_int8_windows_1x4(const ec_int8_conv *spec)
{
    const int one = spec->window.kernel_h * spec->window.kernel_w * spec->in_c;
    const int tile = 3 * one <= EC_INT8_COPIED_LONG_1X4 ? 3 : 1;
    return ec_int8_is_copied_1x4(&spec->window) ? ec_min_i(ec_max_i(EC_INT8_COPIED_1X4 / one, tile), spec->window.out_w) : 1;
}
/* And its bytes. */
EC_INLINE int ec_int8_window_bytes_1x4(const ec_int8_conv *spec)
{
    const int one = spec->window.kernel_h * spec->window.kernel_w * spec->in_c;
    return ec_ceil_div(one * ec_int8_windows_1x4(spec), 4) * 4;
}

/* n bytes of each of `count` windows, to places `apart` and from others. */
EC_INLINE void ec_int8_copy_each(int8_t *to, ptrdiff_t apart, const int8_t *from, ptrdiff_t from_apart, int n, int count)
{
#ifdef EC_INT8_HELIUM
    ec_int8_copy_each_helium(to, apart, from, from_apart, n, count);
#else
    for (; count > 0; count--, to += apart, from += from_apart)
        memcpy(to, from, (size_t)n);
#endif
}

/* `count` windows of output row y from column x on, copied, one behind the other: row by row those that lie in the input in one
   piece, then the others. */
EC_INLINE void ec_int8_copy_windows(const ec_int8_conv *spec, const int8_t *in, int8_t *to, int y, int x, int count)
{
    const ec_window *w = &spec->window;
    const int c = spec->in_c, n = w->kernel_w * c, one = n * w->kernel_h, in_x = x * w->stride_w - w->pad_w;
    const int pieces = w->dilation_w == 1 && spec->in_pixel == c;
    ec_taps inside = ec_taps_within(in_x, count, w->stride_w, 0, pieces ? w->in_w - w->kernel_w + 1 : 0);
    inside.from = ec_min_i(inside.from, count), inside.to = ec_max_i(inside.to, inside.from);
    for (int ky = 0; ky < w->kernel_h; ky++, to += n) {
        const int8_t *const row = ec_int8_row_1x4(spec, in, y, ky);
        const int from = row ? inside.from : count, end = row ? inside.to : count;
        if (from < end)
            ec_int8_copy_each(to + from * one, one, row + (in_x + from * w->stride_w) * c, w->stride_w * c, n, end - from);
        for (int i = 0; i < from; i++)
            ec_int8_copy_row_1x4(spec, row, spec->padding, to + i * one, in_x + i * w->stride_w);
        for (int i = end; i < count; i++)
            ec_int8_copy_row_1x4(spec, row, spec->padding, to + i * one, in_x + i * w->stride_w);
    }
}

/* Rows [row0, row1) of the output.  workspace: windows (ec_int8_window_bytes_1x4), unless the kernel is 1 x 1 and nothing
   padded. */
EC_SHARED void ec_int8_convolve_1x4(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                    const int32_t *channels, int8_t *out, int8_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int n = w->kernel_h * w->kernel_w * spec->in_c;
    const int copied = ec_int8_is_copied_1x4(w);
    const int windows = ec_int8_windows_1x4(spec);
    const ptrdiff_t in_pixel = w->stride_w * spec->in_pixel, out_pixel = spec->out_pixel;
    int one_by_one = copied;
#ifdef EC_ZERO_POINTS
    one_by_one |= spec->sums_of_inputs;
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
#ifdef EC_ZERO_POINTS
        for (int x = 0; spec->sums_of_inputs && x < w->out_w; x++, from += in_pixel, to += out_pixel) {
            if (copied)
                ec_int8_copy_window(spec, in, spec->padding, workspace, y, x);
            const ec_int8_numbers window = {.in = copied ? workspace : from, .n = n};
            ec_int8_pixel_around(spec->result, window, filters, channels, spec->out_c, to);
        }
        if (spec->sums_of_inputs)
            continue;
#endif
        for (int x = 0; x < w->out_w; x += windows, to += windows * out_pixel) {
            const int count = ec_min_i(windows, w->out_w - x);
            ec_int8_copy_windows(spec, in, workspace, y, x, count);
            const ec_int8_numbers all = {.in = workspace, .n = n, .pixels = count, .in_pixel = n, .out_pixel = out_pixel};
            ec_int8_pixels_1x4(spec->result, all, filters, channels, spec->out_c, to);
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
