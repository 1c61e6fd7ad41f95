/* As ec_int8_depthwise_3x3, in less workspace: there is no row outside of the input.  Where a row of windows lies above
   or below the input, a row inside is taken apart in its place, over which padding is then written in the panel.  No
   windows are multiplied where they lie.  Needs ec_int8_depthwise_3x3.h. */
#ifndef EC_INT8_DEPTHWISE_3X3_BORDER_H
#define EC_INT8_DEPTHWISE_3X3_BORDER_H

/* Of `columns` of a panel the numbers of kernel row ky become padding. */
EC_INLINE void ec_int8_pad_columns(int16_t *panel, int ky, int padding, int columns)
{
    for (int x = 0; x < columns; x++, panel += EC_INT8_COLUMN_NUMBERS)
        for (int c = 0; c < 4; c++)
            panel[c % 2 * 6 + (ky < 2 ? c / 2 * 2 + ky : 4 + c / 2)] = (int16_t)padding;
}

/* Rows [row0, row1) of the output.  workspace: the columns that the windows of a row read, of four channels. */
EC_SHARED void ec_int8_depthwise_3x3_border(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                            int8_t *out, int16_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int read = ec_int8_columns_read(w), inside = ec_min_i(w->in_w, read - w->pad_w);
    int16_t *const first = workspace + w->pad_w * EC_INT8_COLUMN_NUMBERS;
    for (int i = 0; i < read * EC_INT8_COLUMN_NUMBERS; i++)
        workspace[i] = (int16_t)spec->padding;
    for (int y = row0; y < row1; y++) {
        const int in_y = y * w->stride_h - w->pad_h;
        const ec_taps met = ec_taps_within(in_y, 3, w->dilation_h, 0, w->in_h);
        const int8_t *row[3];
        for (int ky = 0; ky < 3; ky++)
            row[ky] = ec_int8_row_at(spec, in, in, in_y + ec_max_i(met.from, ec_min_i(ky, met.to - 1)) * w->dilation_h);
        int8_t *const to = out + ec_ring(y, w->out_ring) * spec->out_row;
        const int32_t *words = channels;
        for (int c = 0; c < spec->in_c; c += 4, words += EC_INT8_1X4_WORDS) {
            const int some = ec_min_i(spec->in_c - c, 4);
            if (inside > 0)
                ec_int8_columns(row, c, first, inside, spec->in_pixel, some);
            for (int ky = 0; ky < 3; ky++)
                if (ky < met.from || ky >= met.to)
                    ec_int8_pad_columns(first, ky, spec->padding, inside);
            ec_int8_windows(spec->result, workspace, words, w->out_w, w->stride_w, to + c, spec->out_pixel, some);
        }
    }
}

#endif
