/* Depthwise convolution of int8 with a kernel of 3 x 3, channels last, any stride: eight channels at a
   time, for Helium.

   Of every output row the three input rows of eight channels are copied side by side, so that a window is nine
   vectors one after the other, column by column.  channels: of every eight channels starts
   and scalings (ec_int8_scaling.h) of the even ones, of the odd ones, then the filters, 9 by 8 bytes,
   column by column.  Those beyond the last channel are zeros.  Needs ec_int8_rows.h. */
#ifndef EC_INT8_DEPTHWISE_3X3_1X8_H
#define EC_INT8_DEPTHWISE_3X3_1X8_H

#ifdef EC_INT8_HELIUM
#include "ec_int8_helium.h"
#endif

enum { EC_INT8_COLUMN_BYTES = 24, EC_INT8_1X8_WORDS = 18 + 8 * EC_INT8_WORDS }; /* of a column, words of eight channels */

/* `columns` outside of the input. */
EC_INLINE void ec_int8_fill_columns(int8_t *panel, int padding, int columns)
{
#ifdef EC_INT8_HELIUM
    ec_int8_fill_helium(panel, padding, columns * EC_INT8_COLUMN_BYTES);
#else
    if (columns > 0)
        memset(panel, padding, (size_t)(columns * EC_INT8_COLUMN_BYTES));
#endif
}

/* `columns` of three rows; of the eight channels there are `channels`. */
EC_INLINE void ec_int8_copy_columns(const int8_t *const row[3], int8_t *panel, int columns, ptrdiff_t pixel,
                                    int channels)
{
    const int8_t *a = row[0], *b = row[1], *c = row[2];
    for (int x = 0; x < columns; x++, a += pixel, b += pixel, c += pixel, panel += EC_INT8_COLUMN_BYTES) {
#ifdef EC_INT8_HELIUM
        if (channels == 8) {
            vstrbq_s16(panel, vldrbq_s16(a));
            vstrbq_s16(panel + 8, vldrbq_s16(b));
            vstrbq_s16(panel + 16, vldrbq_s16(c));
            continue;
        }
#endif
        for (int i = 0; i < channels; i++)
            panel[i] = a[i], panel[8 + i] = b[i], panel[16 + i] = c[i];
    }
}

/* `count` windows, `stride` columns apart: out[i * out_pixel + channel]. */
EC_INLINE void ec_int8_3x3_1x8(ec_int8_result result, const int8_t *panel, const int32_t *words, int count,
                              int stride, int8_t *out, ptrdiff_t out_pixel, int channels)
{
#ifdef EC_INT8_HELIUM
    if (channels == 8) {
        const ec_int8_1x8_job job = {
            .panel = panel, .channels = words, .out = out, .out_end = out + count * out_pixel,
            .added = EC_INT8_ADDED(result), .left = EC_INT8_LEFT(result), .out_pixel = out_pixel,
            .panel_skip = stride * EC_INT8_COLUMN_BYTES};
        ec_int8_3x3_1x8_helium(&job);
        if (result.low > INT8_MIN || result.high < INT8_MAX)
            ec_int8_bound_helium(result, out, 8, out_pixel, count);
        return;
    }
#endif
    const int8_t *const filters = (const int8_t *)(words + 8 * EC_INT8_WORDS);
    for (int i = 0; i < count; i++, panel += stride * EC_INT8_COLUMN_BYTES, out += out_pixel) {
        for (int c = 0; c < channels; c++) {
            const int32_t *const own = words + c % 2 * 4 * EC_INT8_WORDS + c / 2;
            int32_t sum = *own;
            for (int k = 0; k < 9; k++)
                sum += panel[8 * k + c] * filters[8 * k + c];
            out[c] = ec_int8_of_sum(result, sum, own + 4, 4);
        }
    }
}

/* Rows [row0, row1) of the output.  workspace: the columns that the windows of a row read, those outside of
   the input included, of eight channels; then a row of the input's size outside of it, unless no window
   reaches there. */
EC_SHARED void ec_int8_depthwise_3x3_1x8(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                        int8_t *out, int8_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int read = ec_int8_columns_read(w), inside = ec_min_i(w->in_w, read - w->pad_w);
    int8_t *const outside = workspace + read * EC_INT8_COLUMN_BYTES;
    ec_int8_fill_columns(workspace, spec->padding, w->pad_w);
    ec_int8_fill_columns(workspace + (w->pad_w + inside) * EC_INT8_COLUMN_BYTES, spec->padding, read - w->pad_w - inside);
#ifdef EC_INT8_HELIUM
    ec_int8_pad_row_helium(w, w->in_w * (int)spec->in_pixel, spec->padding, outside, row0, row1);
#else
    ec_int8_pad_row(spec, spec->padding, outside, row0, row1);
#endif
    for (int y = row0; y < row1; y++) {
        int8_t *const to = out + ec_ring(y, w->out_ring) * spec->out_row;
        const int32_t *words = channels;
        const int8_t *row[3];
        for (int ky = 0; ky < 3; ky++)
            row[ky] = ec_int8_row_of(spec, in, outside, y, ky);
        for (int c = 0; c < spec->in_c; c += 8, words += EC_INT8_1X8_WORDS) {
            const int some = ec_min_i(spec->in_c - c, 8);
            const int8_t *const from[3] = {row[0] + c, row[1] + c, row[2] + c};
            ec_int8_copy_columns(from, workspace + w->pad_w * EC_INT8_COLUMN_BYTES, inside, spec->in_pixel, some);
            ec_int8_3x3_1x8(spec->result, workspace, words, w->out_w, w->stride_w, to + c, spec->out_pixel, some);
        }
    }
}

#endif
