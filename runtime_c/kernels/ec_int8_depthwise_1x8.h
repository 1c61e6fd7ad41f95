/* Depthwise convolution of int8 with any kernel, channels last, any number of filters per channel: eight output
   channels at a time, for Helium.

   Of every output row the input rows of eight channels are copied side by side, so that a window is one vector after
   the other, column by column; with dilation those windows together whose columns lie side by side without others.  Of
   windows of one column that is done down the columns of some rows of the output.  channels: of every eight output channels
   starts and scalings (ec_int8_scaling.h) of the even ones, of the odd ones, then the filters, 8
   bytes a number, column by column.  Those beyond the last channel are zeros.  Filters with zero points lie as int16
   less these, which are up to nine bits.  Needs ec_int8_rows.h. */
#ifndef EC_INT8_DEPTHWISE_1X8_H
#define EC_INT8_DEPTHWISE_1X8_H

#ifdef EC_INT8_HELIUM
#include "ec_int8_helium.h"
#endif

/* Eight output channels from `first` on of n > 0 pixels, `pixel` numbers of the input from one to the next, `apart` bytes of the
   panel. */
EC_INLINE void ec_int8_copy_pixels(const ec_int8_conv *spec, const int8_t *from, ptrdiff_t pixel, int8_t *to, int apart, int n,
                                   int first)
{
    const int each = spec->out_c / spec->in_c, side_by_side = each == 1 && first + 8 <= spec->out_c;
#ifdef EC_INT8_HELIUM
    if (side_by_side) {
        ec_int8_copy_1x8_helium(to, apart, from + first, pixel, n);
        return;
    }
#endif
    for (int i = 0; i < n; i++, from += pixel, to += apart) {
        if (side_by_side)
            memcpy(to, from + first, 8);
        else
            for (int c = 0; c < 8; c++)
                to[c] = from[ec_min_i(first + c, spec->out_c - 1) / each];
    }
}

/* Columns of the windows of eight output channels, from channel `first` of pixel (y, x) on, `read` of them. */
EC_SHARED void ec_int8_copy_1x8(const ec_int8_conv *spec, const int8_t *in, const int8_t *outside, int8_t *panel,
                                int y, int x, int read, int first)
{
    const ec_window *w = &spec->window;
    const int in_x = x * w->stride_w - w->pad_w, apart = 8 * w->kernel_h;
    const ec_taps inside = ec_taps_within(in_x, read, w->dilation_w, 0, w->in_w);
    const int from = ec_min_i(inside.from, read), end = ec_max_i(inside.to, from);
    const ptrdiff_t pixel = w->dilation_w * spec->in_pixel;
    memset(panel, spec->padding, (size_t)(from * apart));
    memset(panel + end * apart, spec->padding, (size_t)((read - end) * apart));
    for (int ky = 0; ky < w->kernel_h && from < end; ky++)
        ec_int8_copy_pixels(spec, ec_int8_row_of(spec, in, outside, y, ky) + in_x * spec->in_pixel + from * pixel, pixel,
                            panel + from * apart + 8 * ky, apart, end - from, first);
}

/* Whether windows are one column, which is then taken for some rows of the output. */
EC_INLINE int ec_int8_is_tall(const ec_window *window)
{
    return window->kernel_w == 1 && window->kernel_h > 1 && !window->pad_w && !window->in_ring && !window->out_ring;
}

/* So many: as many windows that lie side by side as of a tensor of one column. */
EC_INLINE int ec_int8_tall_rows(const ec_window *window)
{
    return ec_min_i(window->out_h, EC_INT8_ROWS_TOGETHER * ec_int8_beside(window->stride_h, window->dilation_h).every);
}

/* `read` rows of a column of the input, the first of them at row in_y, x columns on; of eight output channels from `first` on. */
EC_SHARED void ec_int8_copy_column(const ec_int8_conv *spec, const int8_t *in, int8_t *panel, int in_y, int x, int read,
                                   int first)
{
    const ec_window *w = &spec->window;
    const ec_taps inside = ec_taps_within(in_y, read, w->dilation_h, 0, w->in_h);
    const int from = ec_min_i(inside.from, read), end = ec_max_i(inside.to, from);
    memset(panel, spec->padding, (size_t)(8 * from));
    memset(panel + 8 * end, spec->padding, (size_t)(8 * (read - end)));
    if (from < end)
        ec_int8_copy_pixels(spec, in + (in_y + from * w->dilation_h) * spec->in_row + x * spec->in_pixel,
                            w->dilation_h * spec->in_row, panel + 8 * from, 8, end - from, first);
}

/* Number `at` of the filters of eight channels. */
EC_INLINE int ec_int8_1x8_filter(const ec_int8_conv *spec, const int8_t *filters, int at)
{
    (void)spec;
#ifdef EC_ZERO_POINTS
    if (spec->sums_of_inputs)
        return ((const int16_t *)(const void *)filters)[at];
#endif
    return filters[at];
}

/* Words of eight channels. */
EC_INLINE int ec_int8_1x8_words(const ec_int8_conv *spec)
{
    const int filters = 2 * spec->window.kernel_h * spec->window.kernel_w;
#ifdef EC_ZERO_POINTS
    return 8 * EC_INT8_WORDS + (spec->sums_of_inputs ? 2 : 1) * filters;
#else
    return 8 * EC_INT8_WORDS + filters;
#endif
}

/* `count` windows, `skip` bytes of the panel from one to the next: out[i * out_pixel + channel]. */
EC_INLINE void ec_int8_1x8(const ec_int8_conv *spec, const int8_t *panel, const int32_t *words, int count, int skip,
                           int8_t *out, ptrdiff_t out_pixel, int channels)
{
    const int taps = spec->window.kernel_h * spec->window.kernel_w;
#ifdef EC_INT8_HELIUM
    if (channels == 8) {
        const ec_int8_1x8_job job = {
            .panel = panel, .channels = words, .out = out, .out_end = out + count * out_pixel,
            .added = EC_INT8_ADDED(spec->result), .left = EC_INT8_LEFT(spec->result), .out_pixel = out_pixel,
            .panel_skip = skip, .taps = taps};
#ifdef EC_ZERO_POINTS
        if (spec->sums_of_inputs)
            ec_int8_wide_1x8_helium(&job);
        else
#endif
            ec_int8_1x8_helium(&job);
        if (spec->result.low > INT8_MIN || spec->result.high < INT8_MAX)
            ec_int8_bound_helium(spec->result, out, 8, out_pixel, count);
        return;
    }
#endif
    const int8_t *const filters = (const int8_t *)(words + 8 * EC_INT8_WORDS);
    for (int i = 0; i < count; i++, panel += skip, out += out_pixel) {
        for (int c = 0; c < channels; c++) {
            const int32_t *const own = words + c % 2 * 4 * EC_INT8_WORDS + c / 2;
            int32_t sum = *own;
            for (int k = 0; k < taps; k++)
                sum += panel[8 * k + c] * ec_int8_1x8_filter(spec, filters, 8 * k + c);
            out[c] = ec_int8_of_sum(spec->result, sum, own + 4, 4);
        }
    }
}

/* Bytes of the columns that are taken. */
EC_INLINE int ec_int8_1x8_bytes(const ec_window *window)
{
    const ec_int8_side_by_side rows = ec_int8_beside(window->stride_h, window->dilation_h);
    return 8 * (ec_int8_is_tall(window) ? ec_int8_numbers_read(rows, ec_int8_tall_rows(window), window->kernel_h)
                                        : ec_int8_columns_taken(window) * window->kernel_h);
}

/* Eight channels, from `first` on, of the output rows [y, end), where windows are one column. */
EC_INLINE void ec_int8_1x8_tall(const ec_int8_conv *spec, const int8_t *in, const int32_t *words, int8_t *panel, int y,
                                int end, int first, int8_t *out)
{
    const ec_window *w = &spec->window;
    const ec_int8_side_by_side of = ec_int8_beside(w->stride_h, w->dilation_h);
    for (int row = y; row < ec_min_i(y + of.every, end); row++) {
        const int count = ec_ceil_div(end - row, of.every), read = (count - 1) * of.stride + w->kernel_h;
        for (int x = 0; x < w->out_w; x++) {
            ec_int8_copy_column(spec, in, panel, row * w->stride_h - w->pad_h, x * w->stride_w, read, first);
            ec_int8_1x8(spec, panel, words, count, of.stride * 8, out + row * spec->out_row + x * spec->out_pixel + first,
                        of.every * spec->out_row, ec_min_i(spec->out_c - first, 8));
        }
    }
}

/* Eight channels, from `first` on, of output row y. */
EC_INLINE void ec_int8_1x8_row(const ec_int8_conv *spec, const int8_t *in, const int8_t *outside,
                               const int32_t *words, int8_t *panel, int y, int first, int8_t *out)
{
    const ec_window *w = &spec->window;
    const ec_int8_side_by_side of = ec_int8_beside(w->stride_w, w->dilation_w);
    for (int x = 0; x < ec_min_i(of.every, w->out_w); x++) {
        const int count = ec_ceil_div(w->out_w - x, of.every);
        ec_int8_copy_1x8(spec, in, outside, panel, y, x, (count - 1) * of.stride + w->kernel_w, first);
        ec_int8_1x8(spec, panel, words, count, of.stride * 8 * w->kernel_h, out + x * spec->out_pixel + first,
                    of.every * spec->out_pixel, ec_min_i(spec->out_c - first, 8));
    }
}

/* Rows [row0, row1) of the output.  workspace: the columns that are taken (ec_int8_1x8_bytes), of eight channels; then a row of
   the input's size outside of it, unless no window reaches there. */
EC_SHARED void ec_int8_depthwise_1x8(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                     int8_t *out, int8_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int is_tall = ec_int8_is_tall(w), rows = is_tall ? ec_int8_tall_rows(w) : 1;
    int8_t *const outside = workspace + ec_int8_1x8_bytes(w);
#ifdef EC_INT8_HELIUM
    ec_int8_pad_row_helium(w, w->in_w * (int)spec->in_pixel, spec->padding, outside, row0, row1);
#else
    ec_int8_pad_row(spec, spec->padding, outside, row0, row1);
#endif
    for (int y = row0; y < row1; y += rows) {
        const int32_t *words = channels;
        for (int c = 0; c < spec->out_c; c += 8, words += ec_int8_1x8_words(spec)) {
            if (is_tall)
                ec_int8_1x8_tall(spec, in, words, workspace, y, ec_min_i(y + rows, row1), c, out);
            else
                ec_int8_1x8_row(spec, in, outside, words, workspace, y, c, out + ec_ring(y, w->out_ring) * spec->out_row);
        }
    }
}

#endif
