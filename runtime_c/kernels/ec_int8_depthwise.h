/* Depthwise convolution of int8 with any kernel, channels last, any number of filters per channel: four output
   channels at a time.

   Of every output row the input rows are taken apart column by column, so that windows overlap, as int16: of every two
   rows the pairs of both, of channels 0, 2, 1 and 3, which is how SXTB16 takes words apart; of a last row without
   another, behind all columns of pairs, channels in that order.  Where other columns lie between those of a window
   (dilation), windows are taken together whose columns lie side by side without them.  Of a tensor of one column the pairs
   of some output rows are taken, so that these windows overlap.

   channels: of every four output channels the starts, the filters in the order of a window, the scalings
   (ec_int8_scaling.h).  Those beyond the last channel are zeros.  Needs ec_int8_rows.h. */
#ifndef EC_INT8_DEPTHWISE_H
#define EC_INT8_DEPTHWISE_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_depthwise.h"
#endif

enum { EC_INT8_PAIR_NUMBERS = 8, EC_INT8_LONE_NUMBERS = 4 }; /* int16 of a column of four channels */

/* The channel of four that is at `place`, and the place of a channel. */
EC_INLINE int ec_int8_swapped(int place) { return place % 2 * 2 + place / 2; }

/* Input channels of the four, in their places; of those beyond the last output channel the last one's. */
typedef struct ec_int8_four {
    int channel[4];
    int side_by_side; /* from that at place 0 on */
} ec_int8_four;

EC_INLINE ec_int8_four ec_int8_four_from(const ec_int8_conv *spec, int first)
{
    const int each = spec->out_c / spec->in_c;
    ec_int8_four four = {.channel = {first, first + 2, first + 1, first + 3},
                         .side_by_side = each == 1 && first + 4 <= spec->out_c};
    if (four.side_by_side)
        return four;
    for (int i = 0; i < 4; i++)
        four.channel[i] = ec_min_i(first + ec_int8_swapped(i), spec->out_c - 1) / each;
    return four;
}

/* `columns` of rows a and b, `apart` int16 from one to the next. */
EC_INLINE void ec_int8_pair_columns(const ec_int8_four *four, const int8_t *a, const int8_t *b, int16_t *panel,
                                    int columns, ptrdiff_t pixel, int apart)
{
#ifdef EC_INT8_DSP
    if (four->side_by_side) {
        const int from = four->channel[0];
        ec_int8_pair_columns_dsp(a + from, b + from, panel, columns, pixel, apart * (ptrdiff_t)sizeof *panel);
        return;
    }
#endif
    for (int x = 0; x < columns; x++, a += pixel, b += pixel, panel += apart)
        for (int i = 0; i < 4; i++)
            panel[2 * i] = a[four->channel[i]], panel[2 * i + 1] = b[four->channel[i]];
}

/* `columns` of a row. */
EC_INLINE void ec_int8_lone_columns(const ec_int8_four *four, const int8_t *row, int16_t *panel, int columns,
                                    ptrdiff_t pixel)
{
#ifdef EC_INT8_DSP
    if (four->side_by_side) {
        ec_int8_lone_columns_dsp(row + four->channel[0], panel, columns, pixel);
        return;
    }
#endif
    for (int x = 0; x < columns; x++, row += pixel, panel += EC_INT8_LONE_NUMBERS)
        for (int i = 0; i < 4; i++)
            panel[i] = row[four->channel[i]];
}

/* `value` n times, a multiple of four. */
EC_INLINE void ec_int8_fill(int16_t *panel, int value, int n)
{
    const uint32_t pair = (uint32_t)value << 16 | ((uint32_t)value & 0xffffu), four[2] = {pair, pair};
    EC_NO_UNROLL
    for (int i = 0; i < n; i += 4)
        memcpy(panel + i, four, sizeof four);
}

/* Columns of the windows from output pixel (y, x) on, `read` of them, to `pairs` and `lone`. */
EC_SHARED void ec_int8_take_columns(const ec_int8_conv *spec, const ec_int8_four *four, const int8_t *in, int padding,
                                    const int8_t *outside, int16_t *pairs, int16_t *lone, int y, int x, int read)
{
    const ec_window *w = &spec->window;
    const int in_x = x * w->stride_w - w->pad_w, apart = w->kernel_h / 2 * EC_INT8_PAIR_NUMBERS;
    const ec_taps inside = ec_taps_within(in_x, read, w->dilation_w, 0, w->in_w);
    const int from = ec_min_i(inside.from, read), end = ec_max_i(inside.to, from), columns = end - from;
    const ptrdiff_t pixel = w->dilation_w * spec->in_pixel, at = in_x * spec->in_pixel + from * pixel;
    ec_int8_fill(pairs, padding, from * apart);
    ec_int8_fill(pairs + end * apart, padding, (read - end) * apart);
    if (w->kernel_h % 2) {
        ec_int8_fill(lone, padding, from * EC_INT8_LONE_NUMBERS);
        ec_int8_fill(lone + end * EC_INT8_LONE_NUMBERS, padding, (read - end) * EC_INT8_LONE_NUMBERS);
    }
    if (columns <= 0)
        return;
    for (int ky = 0; ky + 1 < w->kernel_h; ky += 2)
        ec_int8_pair_columns(four, ec_int8_row_of(spec, in, outside, y, ky) + at,
                             ec_int8_row_of(spec, in, outside, y, ky + 1) + at,
                             pairs + from * apart + ky / 2 * EC_INT8_PAIR_NUMBERS, columns, pixel, apart);
    if (w->kernel_h % 2)
        ec_int8_lone_columns(four, ec_int8_row_of(spec, in, outside, y, w->kernel_h - 1) + at,
                             lone + from * EC_INT8_LONE_NUMBERS, columns, pixel);
}

/* Windows in the panel: so many int16 of pairs and of rows without another from one to the next, and so many bytes of
   the output. */
typedef struct ec_int8_taps_apart {
    int pairs, lone;
    ptrdiff_t out;
} ec_int8_taps_apart;

/* `count` windows: out[i * apart.out + channel]. */
EC_INLINE void ec_int8_taps(const ec_int8_conv *spec, const int16_t *pairs, const int16_t *lone, const int32_t *words,
                            int count, ec_int8_taps_apart apart, int8_t *out, int channels)
{
    const ec_window *w = &spec->window;
    const int in_pairs = w->kernel_h / 2 * w->kernel_w, alone = w->kernel_h % 2 * w->kernel_w;
    const int16_t *const filters = (const int16_t *)(words + 4);
    const int16_t *const filters_alone = filters + in_pairs * EC_INT8_PAIR_NUMBERS;
#ifdef EC_INT8_DSP
    if (channels == 4 && EC_INT8_IN_ASSEMBLY(spec->result)) {
        const int pairs_out = in_pairs ? -in_pairs & (EC_INT8_TAPS - 1) : EC_INT8_TAPS;
        const int alone_out = alone ? -alone & (EC_INT8_TAPS - 1) : EC_INT8_TAPS;
        ec_int8_taps_job job = {
            .pairs = pairs, .channels = words, .pairs_end = filters_alone,
            .pairs_left_out = pairs_out * EC_INT8_PAIR_TAP_BYTES, .lone = lone,
            .lone_end = filters_alone + alone * EC_INT8_LONE_NUMBERS, .lone_left_out = alone_out * EC_INT8_LONE_TAP_BYTES,
            .pairs_skip = apart.pairs * (ptrdiff_t)sizeof *pairs, .lone_skip = apart.lone * (ptrdiff_t)sizeof *lone,
            .out = out, .out_pixel = apart.out, .out_end = out + count * apart.out,
            .offset = EC_INT8_OFFSET(spec->result), .right = spec->result.right};
        ec_int8_taps_dsp(&job);
        if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
            for (int i = 0; i < count; i++)
                ec_int8_bound(spec->result, out + i * apart.out, 4);
        return;
    }
#endif
    const int32_t *const scalings = words + 4 + 2 * w->kernel_h * w->kernel_w;
    for (int i = 0; i < count; i++, pairs += apart.pairs, lone += apart.lone, out += apart.out) {
        for (int c = 0; c < channels; c++) {
            const int place = ec_int8_swapped(c);
            int32_t sum = words[c];
            for (int k = 2 * place; k < in_pairs * EC_INT8_PAIR_NUMBERS; k += EC_INT8_PAIR_NUMBERS)
                sum += pairs[k] * filters[k] + pairs[k + 1] * filters[k + 1];
            for (int k = place; k < alone * EC_INT8_LONE_NUMBERS; k += EC_INT8_LONE_NUMBERS)
                sum += lone[k] * filters_alone[k];
            out[c] = ec_int8_of_sum(spec->result, sum, scalings + c, 4);
        }
    }
}

/* Every other row of the input is the first of a pair, of a tensor of one column. */
EC_INLINE ec_int8_side_by_side ec_int8_pairs_beside(const ec_window *window)
{
    return ec_int8_beside(window->stride_h, 2 * window->dilation_h);
}

/* int16 of the columns that are taken. */
EC_INLINE int ec_int8_depthwise_numbers(const ec_window *window)
{
    if (ec_int8_is_column(window)) {
        const int rows = ec_int8_rows_together(window);
        const ec_int8_side_by_side of = ec_int8_pairs_beside(window);
        return ec_int8_numbers_read(of, rows, window->kernel_h / 2) * EC_INT8_PAIR_NUMBERS +
               ec_ceil_div(rows, of.every) * (window->kernel_h % 2) * EC_INT8_LONE_NUMBERS;
    }
    return ec_int8_columns_taken(window) * window->kernel_h * EC_INT8_LONE_NUMBERS;
}

/* Of a tensor of one column `count` windows, the first of output row y: their pairs and rows without another. */
EC_SHARED void ec_int8_take_rows(const ec_int8_conv *spec, const ec_int8_four *four, const int8_t *in,
                                 const int8_t *outside, int16_t *pairs, int16_t *lone, int y, int count)
{
    const ec_window *w = &spec->window;
    const ec_int8_side_by_side of = ec_int8_pairs_beside(w);
    const int in_y = y * w->stride_h - w->pad_h, pair = 2 * w->dilation_h, read = (count - 1) * of.stride + w->kernel_h / 2;
    const ec_taps inside = ec_int8_rows_inside(w, in_y, read, pair, w->dilation_h);
    for (int i = 0; i < read; i++) {
        const int columns = i == inside.from ? ec_max_i(inside.to - i, 1) : 1, at = in_y + i * pair;
        ec_int8_pair_columns(four, ec_int8_row_at(spec, in, outside, at),
                             ec_int8_row_at(spec, in, outside, at + w->dilation_h), pairs + i * EC_INT8_PAIR_NUMBERS, columns,
                             pair * spec->in_row, EC_INT8_PAIR_NUMBERS);
        i += columns - 1;
    }
    if (w->kernel_h % 2 == 0)
        return;
    const int last_y = in_y + (w->kernel_h - 1) * w->dilation_h, next = of.stride * pair;
    const ec_taps alone = ec_int8_rows_inside(w, last_y, count, next, 0);
    for (int i = 0; i < count; i++) {
        const int columns = i == alone.from ? ec_max_i(alone.to - i, 1) : 1;
        ec_int8_lone_columns(four, ec_int8_row_at(spec, in, outside, last_y + i * next), lone + i * EC_INT8_LONE_NUMBERS,
                             columns, next * spec->in_row);
        i += columns - 1;
    }
}

/* Four channels of the output rows [y, end) of a tensor of one column. */
EC_INLINE void ec_int8_depthwise_column(const ec_int8_conv *spec, const ec_int8_four *four, const int8_t *in,
                                        const int8_t *outside, const int32_t *words, int16_t *workspace, int y, int end,
                                        int8_t *out, int channels)
{
    const ec_window *w = &spec->window;
    const ec_int8_side_by_side of = ec_int8_pairs_beside(w);
    const ec_int8_taps_apart apart = {.pairs = of.stride * EC_INT8_PAIR_NUMBERS, .lone = EC_INT8_LONE_NUMBERS,
                                      .out = of.every * spec->out_row};
    const int most = ec_int8_numbers_read(of, ec_int8_rows_together(w), w->kernel_h / 2);
    int16_t *const lone = workspace + most * EC_INT8_PAIR_NUMBERS;
    for (int first = y; first < ec_min_i(y + of.every, end); first++) {
        const int count = ec_ceil_div(end - first, of.every);
        ec_int8_take_rows(spec, four, in, outside, workspace, lone, first, count);
        ec_int8_taps(spec, workspace, lone, words, count, apart, out + first * spec->out_row, channels);
    }
}

/* Four channels of output row y. */
EC_INLINE void ec_int8_depthwise_row(const ec_int8_conv *spec, const ec_int8_four *four, const int8_t *in,
                                     const int8_t *outside, const int32_t *words, int16_t *workspace, int y,
                                     int8_t *out, int channels)
{
    const ec_window *w = &spec->window;
    const ec_int8_side_by_side of = ec_int8_beside(w->stride_w, w->dilation_w);
    const ec_int8_taps_apart apart = {.pairs = of.stride * (w->kernel_h / 2) * EC_INT8_PAIR_NUMBERS,
                                      .lone = of.stride * EC_INT8_LONE_NUMBERS, .out = of.every * spec->out_pixel};
    int16_t *const lone = workspace + ec_int8_columns_taken(w) * (w->kernel_h / 2) * EC_INT8_PAIR_NUMBERS;
    for (int x = 0; x < ec_min_i(of.every, w->out_w); x++) {
        const int count = ec_ceil_div(w->out_w - x, of.every);
        ec_int8_take_columns(spec, four, in, spec->padding, outside, workspace, lone, y, x, (count - 1) * of.stride + w->kernel_w);
        ec_int8_taps(spec, workspace, lone, words, count, apart, out + x * spec->out_pixel, channels);
    }
}

/* Rows [row0, row1) of the output.  workspace: the columns that are taken (ec_int8_depthwise_numbers), of four channels; then a row
   of the input's size outside of it, unless no window reaches there. */
EC_SHARED void ec_int8_depthwise(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                 int16_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int is_column = ec_int8_is_column(w), rows = is_column ? ec_int8_rows_together(w) : 1;
    int8_t *const outside = (int8_t *)(workspace + ec_int8_depthwise_numbers(w));
    ec_int8_pad_row(spec, spec->padding, outside, row0, row1);
    for (int y = row0; y < row1; y += rows) {
        const int32_t *words = channels;
        for (int c = 0; c < spec->out_c; c += 4, words += 4 * EC_INT8_WORDS + 2 * w->kernel_h * w->kernel_w) {
            const ec_int8_four four = ec_int8_four_from(spec, c);
            const int some = ec_min_i(spec->out_c - c, 4);
            if (is_column)
                ec_int8_depthwise_column(spec, &four, in, outside, words, workspace, y, ec_min_i(y + rows, row1), out + c,
                                         some);
            else
                ec_int8_depthwise_row(spec, &four, in, outside, words, workspace, y,
                                      out + ec_ring(y, w->out_ring) * spec->out_row + c, some);
        }
    }
}

#endif
