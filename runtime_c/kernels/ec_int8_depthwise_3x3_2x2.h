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
   there, which is 0 where there is none.  next: int16 from a column of the panel to the next. */
EC_INLINE void ec_int8_2x2_windows_3x3(ec_int8_result result, const int16_t *panel, int next, const int32_t *words,
                                       int columns, int8_t *out, ptrdiff_t pixel, ptrdiff_t second)
{
    const int16_t *const filters = (const int16_t *)words;
    for (int i = 0; i < columns; i++, panel += next, out += pixel) {
        int32_t sums[2] = {words[6], words[6]};
        for (int x = 0; x < 3; x++)
            for (int k = 0; k < 3; k++) {
                const int filter = k ? filters[4 * x + 1 + k] : filters[4 * x];
                sums[0] += panel[x * next + k] * filter;
                sums[1] += panel[x * next + k + 1] * filter;
            }
        out[second] = ec_int8_of_sum(result, sums[1], words + 7, 1);
        out[0] = ec_int8_of_sum(result, sums[0], words + 7, 1);
    }
}

/* Where a lattice of a layer lies: from its first column in the input on, `pixel` bytes from one to the next, and in the
   output, `apart` bytes from one column to the next and `second` to the second row, which is 0 where there is none. */
typedef struct ec_int8_3x3_places {
    ptrdiff_t at, pixel, out, apart, second;
    int columns;
} ec_int8_3x3_places;

EC_INLINE ec_int8_3x3_places ec_int8_3x3_places_of(const ec_int8_conv *spec, const ec_int8_lattice *of)
{
    const ec_window *w = &spec->window;
    const int y = ec_ring(of->y, w->out_ring), next = ec_ring(of->y + of->down.every, w->out_ring) - y;
    const ptrdiff_t pixel = w->dilation_w * spec->in_pixel;
    const ec_int8_3x3_places found = {
        .at = (of->x * w->stride_w - w->pad_w) * spec->in_pixel + of->inside.from * pixel, .pixel = pixel,
        .out = y * spec->out_row + of->x * spec->out_pixel, .apart = of->across.every * spec->out_pixel,
        .second = of->rows > 1 ? next * spec->out_row : 0, .columns = of->inside.to - of->inside.from};
    return found;
}

#ifdef EC_INT8_DSP
/* The channels of a lattice as far as they make fours: how many. */
EC_INLINE int ec_int8_3x3_by_four(const ec_int8_conv *spec, const ec_int8_lattice *of, ec_int8_3x3_places place,
                                       const int32_t *words, int16_t *panel, int8_t *out)
{
    const int whole = EC_INT8_IN_ASSEMBLY(spec->result) ? spec->out_c / 4 * 4 : 0, alone = of->columns == 1;
    ec_int8_2x2_columns_job columns = {
        .row = {of->row[0], of->row[1], of->row[2], of->row[3]}, .at = place.at,
        .panel = panel + of->inside.from * EC_INT8_2X2_COLUMN, .pixel = place.pixel,
        .end = place.at + place.columns * place.pixel};
    ec_int8_3x3_2x2_job job = {
        .panel = panel, .words = words, .out = out, .last = out + (of->columns - 1) * place.apart - alone,
        .pixel = alone ? 0 : place.apart, .second = place.second, .offset = EC_INT8_OFFSET(spec->result),
        .right = spec->result.right}; /* a column alone is computed twice */
    for (int c = 0; c < whole; c += 4) {
        if (place.columns > 0)
            ec_int8_2x2_columns_dsp(&columns);
        ec_int8_3x3_2x2_dsp(&job);
        columns.at += 4, columns.end += 4;
        job.words += 4 * EC_INT8_2X2_CHANNEL, job.out += 4, job.last += 4;
    }
    if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
        for (int i = 0; i < of->columns; i++) {
            ec_int8_bound(spec->result, out + i * place.apart, whole);
            ec_int8_bound(spec->result, out + i * place.apart + place.second, whole);
        }
    return whole;
}
#endif

EC_INLINE void ec_int8_2x2_of_3x3(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                  const int8_t *outside, const int32_t *words, int16_t *panel, void *to)
{
    int8_t *out = to;
    const ec_int8_3x3_places place = ec_int8_3x3_places_of(spec, of);
    int done = 0;
    (void)in, (void)outside;
    out += place.out;
#ifdef EC_INT8_DSP
    done = ec_int8_3x3_by_four(spec, of, place, words, panel, out);
#endif
    for (int c = done; c < spec->out_c; c += 4) {
        const int channels = ec_min_i(spec->out_c - c, 4);
        if (place.columns > 0)
            ec_int8_2x2_columns_3x3(of->row, place.at + c, panel + of->inside.from * EC_INT8_2X2_COLUMN, place.columns,
                                    place.pixel, channels);
        for (int i = 0; i < channels; i++)
            ec_int8_2x2_windows_3x3(spec->result, panel + 4 * i, EC_INT8_2X2_COLUMN,
                                    words + (c + i) * EC_INT8_2X2_CHANNEL, of->columns, out + c + i, place.apart,
                                    place.second);
    }
}

/* Rows [row0, row1) of the output: see ec_int8_2x2_blocks. */
EC_SHARED void ec_int8_depthwise_3x3_2x2(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                         int16_t *workspace, int row0, int row1)
{
    ec_int8_2x2_blocks(spec, in, channels, out, workspace, row0, row1, EC_INT8_2X2_ROWS, EC_INT8_2X2_READ, ec_int8_2x2_of_3x3);
}

#endif
