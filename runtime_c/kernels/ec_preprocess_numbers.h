/* A camera's frame as real numbers by whole lines.  Needs ec_preprocess.h. */
#ifndef EC_PREPROCESS_NUMBERS_H
#define EC_PREPROCESS_NUMBERS_H

/* Scales and shifts of the channels of a line, in its order. */
typedef struct ec_preprocess_numbers_of {
    float scale[4], shift[4];
} ec_preprocess_numbers_of;

/* Pixel x of the result, in the order of the line: its channels, or the four numbers from there on. */
EC_INLINE void ec_preprocess_number(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                    const ec_preprocess_numbers_of numbers, const int32_t *restrict line, int x,
                                    float *restrict to, int count)
{
    int32_t sums[4];
    float pixel[4];
    ec_preprocess_column(spec, by, line, x, sums, count);
    EC_UNROLL
    for (int c = 0; c < count; c++)
        pixel[c] = (float)sums[c] * numbers.scale[c] + numbers.shift[c];
    EC_COPY(to, pixel, (size_t)count * sizeof *pixel);
}

/* Columns of a row of the frame, four numbers at a time: what is beyond a pixel's own is overwritten by the next. */
EC_INLINE void ec_preprocess_columns(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                     const ec_preprocess_numbers_of numbers, const int32_t *restrict line,
                                     float *restrict to)
{
    for (int x = 0; x < spec.columns - 1; x++)
        ec_preprocess_number(spec, by, numbers, line, x, to + (ptrdiff_t)x * spec.channels, spec.channels == 1 ? 1 : 4);
    ec_preprocess_number(spec, by, numbers, line, spec.columns - 1, to + (ptrdiff_t)(spec.columns - 1) * spec.channels,
                         spec.channels);
}

/* Numbers scale * sum + shift: numbers has all scales, all shifts and what is around the frame.  Two rows of the frame are
   a line of sums in the workspace first.  Behind it there is a row of numbers, and one in the order of the result, where
   that is another or something is still to become of them. */
EC_INLINE void ec_preprocess_numbers(const ec_preprocess spec, const ec_epilogue epilogue, const uint8_t *frame,
                                     const int16_t *neighbours, const float *numbers, void *out, float *workspace,
                                     int row0, int row1)
{
    const ec_preprocess_neighbours by = ec_preprocess_split(spec, neighbours);
    const float *const around = numbers + 2 * (ptrdiff_t)spec.channels;
    const int beside = spec.c_next == 1, count = beside ? spec.out_w * spec.channels : spec.out_w;
    const int c_next = beside ? 1 : spec.out_w, order[3] = {spec.at_0, spec.at_1, spec.at_2};
    const int ordered = !spec.as_bytes || (order[0] == 0 && (spec.channels < 3 || order[2] == 2));
    const int direct = beside && ordered && spec.plain;
    int32_t *const line = (int32_t *)workspace;
    float *const reals = workspace + (ptrdiff_t)spec.width * spec.channels + 4;
    float *const arranged = reals + (ptrdiff_t)spec.columns * spec.channels;
    ec_preprocess_numbers_of in_line;
    for (int c = 3; c >= 0; c--) { /* those behind the last channel are anything */
        const int channel = ec_min_i(c, spec.channels - 1), place = spec.as_bytes && c == channel ? order[c] : c;
        in_line.scale[place] = numbers[channel];
        in_line.shift[place] = numbers[spec.channels + channel];
    }
    for (int y = row0; y < row1; y++) {
        const ptrdiff_t begin = (ptrdiff_t)ec_ring(y, spec.out_ring) * spec.y_next;
        const int row = y - spec.top, inside = row >= 0 && row < spec.rows;
        float *const result = direct ? (float *)out + begin : arranged;
        if (!inside || spec.columns < spec.out_w) {
            for (int x = 0; x < spec.out_w; x++)
                for (int c = 0; c < spec.channels; c++)
                    result[(ptrdiff_t)x * spec.x_next + (ptrdiff_t)c * c_next] = around[c];
        }
        float *const to = result + (ptrdiff_t)spec.left * spec.x_next;
        if (inside) {
            const ec_pixel_row a = ec_pixel_row_of(spec, frame, by.first_h[row]);
            const ec_pixel_row b = spec.linear_h ? ec_pixel_row_of(spec, frame, by.second_h[row]) : a;
            ec_preprocess_line(spec, a, b, spec.linear_h ? by.weight_h[row] : 0, line);
            ec_preprocess_columns(spec, by, in_line, line, direct ? to : reals);
        }
        if (direct)
            continue;
        for (int x = 0; inside && x < spec.columns; x++) {
            EC_UNROLL
            for (int c = 0; c < spec.channels; c++)
                to[(ptrdiff_t)x * spec.x_next + (ptrdiff_t)c * c_next] = reals[x * spec.channels + (spec.as_bytes ? order[c] : c)];
        }
        for (int plane = 0; plane < (beside ? 1 : spec.channels); plane++) {
            const ptrdiff_t at = begin + (ptrdiff_t)plane * spec.c_next;
            for (int i = 0; i < count; i += EC_VL) {
                const int n = ec_min_i(EC_VL, count - i);
                ec_finish(epilogue, ec_read(arranged + (ptrdiff_t)plane * count + i, n), NULL, out, at + i, n);
            }
        }
    }
}

#endif
