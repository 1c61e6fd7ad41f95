/* Depthwise convolution of int8 with a kernel of 3 x 3, channels last, any stride: four channels at a time.  With DSP, windows
   some columns apart are multiplied where they lie.

   Of every output row the three input rows are taken apart column by column, so that a window is
   18 words one after the other, and windows overlap: of each column, for channels 0 and 2, then 1 and 3, the
   pair of the first two rows for either channel, and of the third row the pair of both channels.

   channels: of every four channels starts, 18 words of a window of filters in the same order, scalings
   (ec_int8_scaling.h).  Those beyond the last channel are zeros.  The spec is that of other convolutions, with in_c =
   out_c.  Needs ec_int8_rows.h. */
#ifndef EC_INT8_DEPTHWISE_3X3_H
#define EC_INT8_DEPTHWISE_3X3_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_depthwise_3x3.h"
#endif

enum { EC_INT8_COLUMN_NUMBERS = 12, EC_INT8_1X4_WORDS = 18 + 4 * EC_INT8_WORDS }; /* int16 of a column, words of four channels */

EC_INLINE void ec_int8_columns_c(const int8_t *const row[3], ptrdiff_t at, int16_t *panel, int columns,
                                 ptrdiff_t pixel, int channels)
{
    for (int x = 0; x < columns; x++, at += pixel, panel += EC_INT8_COLUMN_NUMBERS) {
        EC_UNROLL
        for (int c = 0; c < 4; c++) {
            int16_t *const half = panel + c % 2 * 6;
            half[c / 2 * 2] = c < channels ? row[0][at + c] : 0;
            half[c / 2 * 2 + 1] = c < channels ? row[1][at + c] : 0;
            half[4 + c / 2] = c < channels ? row[2][at + c] : 0;
        }
    }
}

/* `columns` of three rows from `at` on, `channels` of which there are, 1 to 4. */
EC_INLINE void ec_int8_columns(const int8_t *const row[3], ptrdiff_t at, int16_t *panel, int columns,
                               ptrdiff_t pixel, int channels)
{
#ifdef EC_INT8_DSP
    if (channels == 4) {
        const ec_int8_columns_job job = {.row = {row[0], row[1], row[2]}, .at = at, .panel = panel,
                                         .pixel = pixel, .end = at + columns * pixel};
        ec_int8_columns_dsp(&job);
        return;
    }
#endif
    if (channels == 4)
        ec_int8_columns_c(row, at, panel, columns, pixel, 4);
    else
        ec_int8_columns_c(row, at, panel, columns, pixel, channels);
}

/* The result of channel c, one of four, of a window. */
EC_INLINE int8_t ec_int8_window(ec_int8_result result, const int16_t *panel, const int32_t *words, int c)
{
    const int16_t *const filters = (const int16_t *)(words + 4);
    int32_t sum = words[c];
    for (int x = 0; x < 3; x++) {
        const int at = x * EC_INT8_COLUMN_NUMBERS + c % 2 * 6;
        for (int k = 0; k < 2; k++)
            sum += panel[at + c / 2 * 2 + k] * filters[at + c / 2 * 2 + k];
        sum += panel[at + 4 + c / 2] * filters[at + 4 + c / 2];
    }
    return ec_int8_of_sum(result, sum, words + 22 + c, 4);
}

/* `count` windows, `stride` columns apart: out[i * out_pixel + channel]. */
EC_INLINE void ec_int8_windows(ec_int8_result result, const int16_t *panel, const int32_t *words, int count,
                               int stride, int8_t *out, ptrdiff_t out_pixel, int channels)
{
#ifdef EC_INT8_DSP
    if (channels == 4 && EC_INT8_IN_ASSEMBLY(result)) {
        const ec_int8_depthwise_job job = {
            .panel = panel, .channels = words, .out = out, .out_end = out + count * out_pixel,
            .offset = EC_INT8_OFFSET(result), .right = result.right,
            .panel_skip = (stride - 3) * EC_INT8_COLUMN_NUMBERS * (ptrdiff_t)sizeof *panel, .out_pixel = out_pixel};
        ec_int8_depthwise_dsp(&job);
        if (result.low != INT8_MIN || result.high != INT8_MAX)
            for (int i = 0; i < count; i++)
                ec_int8_bound(result, out + i * out_pixel, 4);
        return;
    }
#endif
    const ptrdiff_t window = stride * EC_INT8_COLUMN_NUMBERS;
    if (channels == 4)
        for (int i = 0; i < count; i++, panel += window, out += out_pixel)
            EC_UNROLL
            for (int c = 0; c < 4; c++)
                out[c] = ec_int8_window(result, panel, words, c);
    else
        for (int i = 0; i < count; i++, panel += window, out += out_pixel)
            for (int c = 0; c < channels; c++)
                out[c] = ec_int8_window(result, panel, words, c);
}

#ifdef EC_INT8_DSP
/* Windows x of a row of the output all of whose columns lie in the input. */
EC_INLINE ec_taps ec_int8_columns_inside(const ec_window *window)
{
    ec_taps inside = ec_taps_within(-window->pad_w, window->out_w, window->stride_w, 0, window->in_w - 2);
    inside.from = ec_min_i(inside.from, window->out_w);
    inside.to = ec_max_i(inside.to, inside.from);
    return inside;
}

/* Whether windows are multiplied where they lie: more than are copied, since columns of theirs lie outside.  Two columns or
   more from one to the next, they are read in front of the results, which may lie over the input. */
EC_INLINE int ec_int8_are_apart(const ec_int8_conv *spec)
{
    const ec_window *w = &spec->window;
    const ec_taps inside = ec_int8_columns_inside(w);
    return EC_INT8_IN_ASSEMBLY(spec->result) && spec->in_c % 4 == 0 && w->stride_w > 1 && w->pad_w < 2 &&
           2 * (inside.to - inside.from) > w->out_w;
}

/* All channels of window x, columns of which lie outside of the input: those inside are copied beside padding. */
EC_INLINE void ec_int8_window_copied(const ec_int8_conv *spec, const int8_t *const row[3], int x, const ec_int8_3x3_job *of)
{
    ec_int8_3x3_job job = *of;
    const ec_window *w = &spec->window;
    const int first = x * w->stride_w - w->pad_w;
    const ec_taps inside = ec_taps_within(first, 3, 1, 0, w->in_w);
    int8_t window[36]; /* three rows of as many columns */
    memset(window, spec->padding, sizeof window);
    for (int ky = 0; ky < 3; ky++)
        job.row[ky] = window + 12 * ky;
    job.pixel = 4, job.out += x * spec->out_pixel, job.out_end = job.out + spec->out_pixel;
    for (int c = 0; c < spec->in_c; c += 4) {
        for (int kx = inside.from; kx < inside.to; kx++)
            for (int ky = 0; ky < 3; ky++)
                EC_COPY(window + 12 * ky + 4 * kx, row[ky] + (first + kx) * spec->in_pixel + c, 4);
        ec_int8_3x3_dsp(&job);
        job.channels += EC_INT8_1X4_WORDS, job.out += 4, job.out_end += 4;
    }
}

/* A row of windows, from left to right. */
EC_SHARED void ec_int8_row_apart(const ec_int8_conv *spec, const int8_t *const row[3], const int32_t *words, int8_t *out)
{
    const ec_window *w = &spec->window;
    const ec_taps inside = ec_int8_columns_inside(w);
    const ec_int8_3x3_job job = {
        .row = {row[0], row[1], row[2]}, .pixel = spec->in_pixel, .channels = words, .out = out,
        .next = w->stride_w * spec->in_pixel, .out_pixel = spec->out_pixel, .offset = EC_INT8_OFFSET(spec->result),
        .right = spec->result.right};
    for (int x = 0; x < w->out_w; x++) {
        if (x != inside.from) {
            ec_int8_window_copied(spec, row, x, &job);
            continue;
        }
        ec_int8_3x3_job run = job;
        for (int ky = 0; ky < 3; ky++)
            run.row[ky] += x * job.next - w->pad_w * spec->in_pixel;
        run.out += x * spec->out_pixel, run.out_end = out + inside.to * spec->out_pixel;
        for (int c = 0; c < spec->in_c; c += 4) {
            ec_int8_3x3_dsp(&run);
            run.row[0] += 4, run.row[1] += 4, run.row[2] += 4;
            run.channels += EC_INT8_1X4_WORDS, run.out += 4, run.out_end += 4;
        }
        x = inside.to - 1;
    }
    if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
        for (int x = 0; x < w->out_w; x++)
            ec_int8_bound(spec->result, out + x * spec->out_pixel, spec->in_c);
}
#endif

/* Rows [row0, row1) of the output.  workspace: those columns of four channels; then a row of the input's
   size outside of it, unless no window reaches there. */
EC_SHARED void ec_int8_depthwise_3x3(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                     int8_t *out, int16_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int read = ec_int8_columns_read(w), inside = ec_min_i(w->in_w, read - w->pad_w);
    int8_t *const outside = (int8_t *)(workspace + read * EC_INT8_COLUMN_NUMBERS);
    int16_t *const first = workspace + w->pad_w * EC_INT8_COLUMN_NUMBERS;
#ifdef EC_INT8_DSP
    const int apart = ec_int8_are_apart(spec);
#else
    const int apart = 0;
#endif
    for (int i = 0; !apart && i < read * EC_INT8_COLUMN_NUMBERS; i++)
        workspace[i] = (int16_t)spec->padding;
    ec_int8_pad_row(spec, spec->padding, outside, row0, row1);
    for (int y = row0; y < row1; y++) {
        const int8_t *row[3];
        for (int ky = 0; ky < 3; ky++)
            row[ky] = ec_int8_row_of(spec, in, outside, y, ky);
        int8_t *const to = out + ec_ring(y, w->out_ring) * spec->out_row;
#ifdef EC_INT8_DSP
        if (apart) {
            ec_int8_row_apart(spec, row, channels, to);
            continue;
        }
#endif
        const int32_t *words = channels;
        for (int c = 0; c < spec->in_c; c += 4, words += EC_INT8_1X4_WORDS) {
            const int some = ec_min_i(spec->in_c - c, 4);
            if (inside > 0)
                ec_int8_columns(row, c, first, inside, spec->in_pixel, some);
            ec_int8_windows(spec->result, workspace, words, w->out_w, w->stride_w, to + c, spec->out_pixel, some);
        }
    }
}

#endif
