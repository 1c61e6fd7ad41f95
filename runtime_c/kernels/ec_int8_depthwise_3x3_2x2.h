/* Depthwise convolution of int8 with a kernel of 3 x 3 whose windows lie side by side, one filter per channel: two output
   rows and two columns of a channel at a time, whose filters stay in registers.

   A column of the panel has for each of four channels the pairs of rows (0, 1) and (2, 3).  words: of every four channels
   for each of them, column by column, filters (0, 1) and (1, 2) as int16, then its start and its scaling
   (ec_int8_scaling.h).  Those beyond the last channel are zeros.  Needs ec_int8_2x2.h. */
#ifndef EC_INT8_DEPTHWISE_3X3_2X2_H
#define EC_INT8_DEPTHWISE_3X3_2X2_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_3x3_2x2.h"
#endif

enum { EC_INT8_2X2_COLUMN = 16, EC_INT8_2X2_CHANNEL = 6 + EC_INT8_WORDS }; /* int16 of a column, words of a channel */

/* `columns` of four rows from `at` on, `pixel` bytes apart, of which there are `channels`, 1 to 4. */
EC_INLINE void ec_int8_2x2_columns_3x3(const int8_t *const row[4], ptrdiff_t at, int16_t *panel, int columns,
                                       ptrdiff_t pixel, int channels)
{
#ifdef EC_INT8_DSP
    if (channels == 4) {
        const ec_int8_2x2_columns_job job = {.row = {row[0], row[1], row[2], row[3]}, .at = at, .panel = panel,
                                             .pixel = pixel, .end = at + columns * pixel};
        ec_int8_2x2_columns_dsp(&job);
        return;
    }
#endif
    for (int x = 0; x < columns; x++, at += pixel, panel += EC_INT8_2X2_COLUMN)
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < 4; i++)
                panel[4 * c + i] = row[i][at + c];
}

/* `columns` of results of a channel, `pixel` bytes apart: of the first row at out, of the second `second` bytes from
   there, which is 0 where there is none. */
EC_INLINE void ec_int8_2x2_windows_3x3(ec_int8_result result, const int16_t *panel, const int32_t *words, int columns,
                                       int8_t *out, ptrdiff_t pixel, ptrdiff_t second)
{
    const int16_t *const filters = (const int16_t *)words;
    for (int i = 0; i < columns; i++, panel += EC_INT8_2X2_COLUMN, out += pixel) {
        int32_t sums[2] = {words[6], words[6]};
        for (int x = 0; x < 3; x++)
            for (int k = 0; k < 3; k++) {
                const int filter = k ? filters[4 * x + 1 + k] : filters[4 * x];
                sums[0] += panel[x * EC_INT8_2X2_COLUMN + k] * filter;
                sums[1] += panel[x * EC_INT8_2X2_COLUMN + k + 1] * filter;
            }
        out[second] = ec_int8_of_sum(result, sums[1], words + 7, 1);
        out[0] = ec_int8_of_sum(result, sums[0], words + 7, 1);
    }
}

EC_INLINE void ec_int8_2x2_of_3x3(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                  const int8_t *outside, const int32_t *words, int16_t *panel, int8_t *out, int first)
{
    const ec_window *w = &spec->window;
    const int channels = ec_min_i(spec->out_c - first, 4), columns = of->inside.to - of->inside.from;
    const ptrdiff_t pixel = w->dilation_w * spec->in_pixel;
    (void)in, (void)outside;
    if (columns > 0)
        ec_int8_2x2_columns_3x3(of->row, (of->x * w->stride_w - w->pad_w) * spec->in_pixel + of->inside.from * pixel + first,
                                panel + of->inside.from * EC_INT8_2X2_COLUMN, columns, pixel, channels);
    int8_t *const to = out + ec_ring(of->y, w->out_ring) * spec->out_row + of->x * spec->out_pixel + first;
    const ptrdiff_t apart = of->across.every * spec->out_pixel;
    const int next = ec_ring(of->y + of->down.every, w->out_ring) - ec_ring(of->y, w->out_ring);
    const ptrdiff_t second = of->rows > 1 ? next * spec->out_row : 0;
#ifdef EC_INT8_DSP
    if (channels == 4 && EC_INT8_IN_ASSEMBLY(spec->result)) {
        const int alone = of->columns == 1; /* is computed twice */
        const ec_int8_3x3_2x2_job job = {
            .panel = panel, .words = words, .out = to, .last = to + (of->columns - 1) * apart - alone,
            .pixel = alone ? 0 : apart, .second = second, .offset = EC_INT8_OFFSET(spec->result),
            .right = spec->result.right};
        ec_int8_3x3_2x2_dsp(&job);
        if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
            for (int i = 0; i < of->columns; i++) {
                ec_int8_bound(spec->result, to + i * apart, 4);
                ec_int8_bound(spec->result, to + i * apart + second, 4);
            }
        return;
    }
#endif
    for (int c = 0; c < channels; c++)
        ec_int8_2x2_windows_3x3(spec->result, panel + 4 * c, words + c * EC_INT8_2X2_CHANNEL, of->columns, to + c, apart, second);
}

/* Rows [row0, row1) of the output: see ec_int8_2x2_blocks. */
EC_SHARED void ec_int8_depthwise_3x3_2x2(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                         int16_t *workspace, int row0, int row1)
{
    ec_int8_2x2_blocks(spec, in, channels, out, workspace, row0, row1, EC_INT8_2X2_ROWS, ec_int8_2x2_of_3x3,
                       4 * EC_INT8_2X2_CHANNEL);
}

#endif
