/* Depthwise convolution of int8 with a kernel of 3 x 3 whose windows lie side by side, as ec_int8_depthwise_3x3_2x2.h, but up to
   six rows of the output by a panel: a row of the input is read and taken apart for eight rows in place of four, and the
   filters of a channel are loaded once for six rows.

   A column of the panel has for each of four channels the pairs of rows (0, 1), (2, 3), (4, 5) and (6, 7).  words: as there.
   Needs ec_int8_depthwise_3x3_2x2.h. */
#ifndef EC_INT8_DEPTHWISE_3X3_6X2_H
#define EC_INT8_DEPTHWISE_3X3_6X2_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_3x3_6x2.h"
#endif

enum { EC_INT8_6X2_COLUMN = 32 }; /* int16 of a column */

/* `columns` of `rows` from `at` on, `pixel` bytes apart, of which there are `channels`, 1 to 4. */
EC_INLINE void ec_int8_6x2_columns(const int8_t *const row[EC_INT8_6X2_READ], int rows, ptrdiff_t at, int16_t *panel, int columns,
                                   ptrdiff_t pixel, int channels)
{
    for (int x = 0; x < columns; x++, at += pixel, panel += EC_INT8_6X2_COLUMN)
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < rows; i++)
                panel[EC_INT8_6X2_READ * c + i] = row[i][at + c];
}

#ifdef EC_INT8_DSP
/* The channels of a lattice as far as they make fours: how many.  `read`: rows of the input. */
EC_INLINE int ec_int8_6x2_by_four(const ec_int8_conv *spec, const ec_int8_lattice *of, ec_int8_3x3_places place, int read,
                                  const int32_t *words, int16_t *panel, int8_t *out)
{
    const int whole = EC_INT8_IN_ASSEMBLY(spec->result) ? spec->out_c / 4 * 4 : 0, alone = of->columns == 1;
    ec_int8_row_places rows[EC_INT8_6X2_ROWS / 2];
    ec_int8_2x2_columns_job columns[EC_INT8_6X2_READ / 4];
    for (int i = 0; i < of->rows; i += 2) {
        ec_int8_lattice two = *of;
        two.y += i * of->down.every, two.rows -= i;
        const ec_int8_3x3_places at = ec_int8_3x3_places_of(spec, &two);
        rows[i / 2].first = at.out, rows[i / 2].second = at.second;
        rows[i / 2].last = at.out + (of->columns - 1) * place.apart - alone;
    }
    for (int i = 0; i < read; i += 4) {
        ec_int8_2x2_columns_job *const some = columns + i / 4;
        for (int j = 0; j < 4; j++)
            some->row[j] = of->row[i + j];
        some->at = place.at, some->end = place.at + place.columns * place.pixel, some->pixel = place.pixel;
        some->panel = panel + of->inside.from * EC_INT8_6X2_COLUMN + i;
    }
    ec_int8_3x3_6x2_job job = {
        .panel = panel, .words = words, .out = out, .rows = rows, .pixel = alone ? 0 : place.apart, .count = (of->rows + 1) / 2,
        .offset = EC_INT8_OFFSET(spec->result), .right = spec->result.right,
        .is_odd = alone || of->columns / 2 % 2}; /* a column alone is computed twice */
    for (int c = 0; c < whole; c += 4) {
        for (int i = 0; i < read && place.columns > 0; i += 4) {
            ec_int8_6x2_columns_dsp(columns + i / 4);
            columns[i / 4].at += 4, columns[i / 4].end += 4;
        }
        ec_int8_3x3_6x2_dsp(&job);
        job.words += 4 * EC_INT8_2X2_CHANNEL, job.out += 4;
    }
    if (spec->result.low != INT8_MIN || spec->result.high != INT8_MAX)
        for (int i = 0; i < of->rows; i++)
            for (int x = 0; x < of->columns; x++)
                ec_int8_bound(spec->result, out + rows[i / 2].first + i % 2 * rows[i / 2].second + x * place.apart, whole);
    return whole;
}
#endif

EC_INLINE void ec_int8_6x2_of_3x3(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                  const int8_t *outside, const int32_t *words, int16_t *panel, void *to)
{
    int8_t *const out = to;
    const ec_int8_3x3_places place = ec_int8_3x3_places_of(spec, of);
    const int read = of->rows > 2 ? EC_INT8_6X2_READ : 4;
    int done = 0;
    (void)in, (void)outside;
#ifdef EC_INT8_DSP
    done = ec_int8_6x2_by_four(spec, of, place, read, words, panel, out);
#endif
    for (int c = done; c < spec->out_c; c += 4) {
        const int channels = ec_min_i(spec->out_c - c, 4);
        if (place.columns > 0)
            ec_int8_6x2_columns(of->row, read, place.at + c, panel + of->inside.from * EC_INT8_6X2_COLUMN, place.columns,
                                place.pixel, channels);
        for (int y = 0; y < of->rows; y += 2) {
            ec_int8_lattice two = *of;
            two.y += y * of->down.every, two.rows -= y;
            const ec_int8_3x3_places at = ec_int8_3x3_places_of(spec, &two);
            for (int i = 0; i < channels; i++)
                ec_int8_2x2_windows_3x3(spec->result, panel + EC_INT8_6X2_READ * i + y, EC_INT8_6X2_COLUMN,
                                        words + (c + i) * EC_INT8_2X2_CHANNEL, of->columns, out + at.out + c + i, at.apart,
                                        at.second);
        }
    }
}

/* Rows [row0, row1) of the output: see ec_int8_2x2_blocks. */
EC_SHARED void ec_int8_depthwise_3x3_6x2(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                         int16_t *workspace, int row0, int row1)
{
    ec_int8_2x2_blocks(spec, in, channels, out, workspace, row0, row1, EC_INT8_6X2_ROWS, EC_INT8_6X2_READ, ec_int8_6x2_of_3x3);
}

#endif
