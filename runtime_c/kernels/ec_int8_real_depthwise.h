/* Depthwise layers of int8, channels last, whose results are real numbers, where columns are taken apart as those of
   ec_int8_depthwise_3x3.h and ec_int8_depthwise.h are: four channels at a time, the sums of a row of windows, then what
   these become (ec_int8_real.h).

   filters: of every four output channels, as those headers have them.  Those with zero points are what they stand for,
   which 16 bits hold.  Needs ec_int8_depthwise_3x3.h, ec_int8_depthwise.h and
   ec_int8_real.h. */
#ifndef EC_INT8_REAL_DEPTHWISE_H
#define EC_INT8_REAL_DEPTHWISE_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_depthwise_sums.h"
#endif

/* Sums of `count` windows of 3 x 3, `stride` columns apart, four of each, which begin with those of `start`. */
EC_INLINE void ec_int8_window_sums(const int16_t *panel, const int32_t *words, const int32_t *start, int count, int stride,
                                   int32_t *sums)
{
#ifdef EC_INT8_DSP
    const ec_int8_window_sums_job job = {
        .panel = panel, .filters = words, .sums = sums, .sums_end = sums + 4 * count, .start = start,
        .panel_skip = (stride - 3) * EC_INT8_COLUMN_NUMBERS * (ptrdiff_t)sizeof *panel};
    ec_int8_window_sums_dsp(&job);
#else
    const int16_t *const filters = (const int16_t *)words;
    for (int i = 0; i < count; i++, panel += stride * EC_INT8_COLUMN_NUMBERS)
        for (int c = 0; c < 4; c++, sums++) {
            *sums = start[c];
            for (int x = 0; x < 3; x++) {
                const int at = x * EC_INT8_COLUMN_NUMBERS + c % 2 * 6;
                for (int k = 0; k < 2; k++)
                    *sums += panel[at + c / 2 * 2 + k] * filters[at + c / 2 * 2 + k];
                *sums += panel[at + 4 + c / 2] * filters[at + 4 + c / 2];
            }
        }
#endif
}

/* Sums of windows of any kernel, tap by tap. */
EC_INLINE void ec_int8_tap_sums(const ec_int8_conv *spec, const int16_t *pairs, const int16_t *lone, const int32_t *words,
                                const int32_t *start, int count, ec_int8_taps_apart apart, int32_t *sums)
{
    const ec_window *w = &spec->window;
    const int in_pairs = w->kernel_h / 2 * w->kernel_w, alone = w->kernel_h % 2 * w->kernel_w;
    const int16_t *const filters = (const int16_t *)words;
    const int16_t *const filters_alone = filters + in_pairs * EC_INT8_PAIR_NUMBERS;
#ifdef EC_INT8_DSP
    const int pairs_out = in_pairs ? -in_pairs & (EC_INT8_TAPS - 1) : EC_INT8_TAPS;
    const int alone_out = alone ? -alone & (EC_INT8_TAPS - 1) : EC_INT8_TAPS;
    ec_int8_tap_sums_job job = {
        .pairs = pairs, .filters = words, .pairs_end = filters_alone, .pairs_left_out = pairs_out * EC_INT8_PAIR_TAP_BYTES,
        .lone = lone, .lone_end = filters_alone + alone * EC_INT8_LONE_NUMBERS,
        .lone_left_out = alone_out * EC_INT8_LONE_TAP_BYTES, .pairs_skip = apart.pairs * (ptrdiff_t)sizeof *pairs,
        .lone_skip = apart.lone * (ptrdiff_t)sizeof *lone, .sums = sums, .sums_end = sums + 4 * count,
        .start = start};
    ec_int8_tap_sums_dsp(&job);
#else
    for (int i = 0; i < count; i++, pairs += apart.pairs, lone += apart.lone)
        for (int c = 0; c < 4; c++, sums++) {
            const int place = ec_int8_swapped(c);
            *sums = start[c];
            for (int k = 2 * place; k < in_pairs * EC_INT8_PAIR_NUMBERS; k += EC_INT8_PAIR_NUMBERS)
                *sums += pairs[k] * filters[k] + pairs[k + 1] * filters[k + 1];
            for (int k = place; k < alone * EC_INT8_LONE_NUMBERS; k += EC_INT8_LONE_NUMBERS)
                *sums += lone[k] * filters_alone[k];
        }
#endif
}

/* What four sums become, of channels whose units and biases are these; `number`: as of ec_finish_number. */
EC_INLINE void ec_int8_real_four(const ec_epilogue epilogue, const ec_int8_reals as, const int32_t *sums, const float *unit,
                                 const float *bias, ptrdiff_t at, int number)
{
    ec_vec results[4];
    EC_UNROLL
    for (int c = 0; c < 4; c++)
        results[c] = ec_fma(ec_set1((float)sums[c]), ec_set1(unit[c]), ec_set1(bias[c]));
    EC_UNROLL
    for (int c = 0; c < 4; c++)
        if (number)
            ec_finish_number(epilogue, results[c], as.residual, as.out, at + c, 1);
        else
            ec_finish(epilogue, results[c], as.residual, as.out, at + c, 1);
}

/* What the sums of `count` windows become, of `channels` <= 4 of each, from number c on. */
EC_INLINE void ec_int8_real_windows(const ec_epilogue epilogue, const ec_int8_reals as, const int32_t *sums, int c,
                                    int channels, ptrdiff_t at, ptrdiff_t apart, int count)
{
    const int number = as.finite && ec_bounds_numbers(epilogue.before);
    float unit[4], bias[4];
    if (channels < 4) {
        for (int i = 0; i < channels; i++)
            ec_int8_real_pixels(epilogue, as, sums + i, 4, c + i, at + i, apart, count);
        return;
    }
    EC_UNROLL
    for (int i = 0; i < 4; i++)
        bias[i] = as.bias[c + i], unit[i] = as.bias[c + i + as.units_at];
    for (int i = 0; number && i < count; i++)
        ec_int8_real_four(epilogue, as, sums + 4 * i, unit, bias, at + i * apart, 1);
    for (int i = 0; !number && i < count; i++)
        ec_int8_real_four(epilogue, as, sums + 4 * i, unit, bias, at + i * apart, 0);
}

/* Rows [row0, row1) of the output, of a kernel of 3 x 3.  workspace: what ec_int8_depthwise_3x3 has, behind the sums of a
   row of four channels. */
EC_INLINE void ec_int8_real_depthwise_3x3(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                          const int8_t *in, const int32_t *filters, int32_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int read = ec_int8_columns_read(w), inside = ec_min_i(w->in_w, read - w->pad_w);
    int16_t *const panel = (int16_t *)(workspace + 4 * w->out_w);
    int8_t *const outside = (int8_t *)(panel + read * EC_INT8_COLUMN_NUMBERS);
    for (int i = 0; i < read * EC_INT8_COLUMN_NUMBERS; i++)
        panel[i] = (int16_t)as.padding;
    ec_int8_pad_row(spec, as.padding, outside, row0, row1);
    for (int y = row0; y < row1; y++) {
        const int8_t *row[3];
        for (int ky = 0; ky < 3; ky++)
            row[ky] = ec_int8_row_of(spec, in, outside, y, ky);
        const ptrdiff_t at = as.at + ec_ring(y, w->out_ring) * spec->out_row;
        for (int c = 0; c < spec->in_c; c += 4, filters += 18) {
            const int some = ec_min_i(spec->in_c - c, 4);
            if (inside > 0)
                ec_int8_columns(row, c, panel + w->pad_w * EC_INT8_COLUMN_NUMBERS, inside, spec->in_pixel, some);
            ec_int8_window_sums(panel, filters, as.start + c, w->out_w, w->stride_w, workspace);
            ec_int8_real_windows(epilogue, as, workspace, c, some, at + c, spec->out_pixel, w->out_w);
        }
        filters -= 18 * ec_ceil_div(spec->in_c, 4);
    }
}

/* Four channels of output row y, or of the rows [y, end) of a tensor of one column.  workspace: the sums, then columns. */
EC_INLINE void ec_int8_real_taps(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                 const int8_t *in, const int8_t *outside, const int32_t *words, int32_t *workspace, int y,
                                 int end, int c)
{
    const ec_window *w = &spec->window;
    const int is_column = ec_int8_is_column(w), some = ec_min_i(spec->out_c - c, 4);
    const ec_int8_four four = ec_int8_four_from(spec, c);
    const ec_int8_side_by_side of =
        is_column ? ec_int8_pairs_beside(w) : ec_int8_beside(w->stride_w, w->dilation_w);
    const int rows = is_column ? 1 : w->kernel_h / 2, windows = is_column ? end - y : w->out_w;
    const int taken = is_column ? ec_int8_numbers_read(of, ec_int8_rows_together(w), w->kernel_h / 2)
                                : ec_int8_columns_taken(w) * rows;
    const ec_int8_taps_apart apart = {.pairs = of.stride * rows * EC_INT8_PAIR_NUMBERS,
                                      .lone = (is_column ? 1 : of.stride) * EC_INT8_LONE_NUMBERS};
    int16_t *const pairs = (int16_t *)(workspace + 4 * (is_column ? ec_int8_rows_together(w) : w->out_w));
    int16_t *const lone = pairs + taken * EC_INT8_PAIR_NUMBERS;
    const ptrdiff_t pixel = is_column ? spec->out_row : spec->out_pixel;
    const ptrdiff_t at = as.at + ec_ring(y, w->out_ring) * spec->out_row + c;
    for (int first = 0; first < ec_min_i(of.every, windows); first++) {
        const int count = ec_ceil_div(windows - first, of.every);
        if (is_column)
            ec_int8_take_rows(spec, &four, in, outside, pairs, lone, y + first, count);
        else
            ec_int8_take_columns(spec, &four, in, as.padding, outside, pairs, lone, y, first, (count - 1) * of.stride + w->kernel_w);
        ec_int8_tap_sums(spec, pairs, lone, words, as.start + c, count, apart, workspace);
        ec_int8_real_windows(epilogue, as, workspace, c, some, at + first * pixel, of.every * pixel, count);
    }
}

/* Rows [row0, row1) of the output, of any kernel and any number of filters per channel.  workspace: what ec_int8_depthwise
   has, behind the sums of the windows of a row, or of the rows of a tensor of one column that are computed together. */
EC_INLINE void ec_int8_real_depthwise_taps(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                           const int8_t *in, const int32_t *filters, int32_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int rows = ec_int8_is_column(w) ? ec_int8_rows_together(w) : 1, sums = 4 * (ec_int8_is_column(w) ? rows : w->out_w);
    int8_t *const outside = (int8_t *)((int16_t *)(workspace + sums) + ec_int8_depthwise_numbers(w));
    ec_int8_pad_row(spec, as.padding, outside, row0, row1);
    for (int y = row0; y < row1; y += rows) {
        const int32_t *words = filters;
        for (int c = 0; c < spec->out_c; c += 4, words += 2 * w->kernel_h * w->kernel_w)
            ec_int8_real_taps(spec, epilogue, as, in, outside, words, workspace, y, ec_min_i(y + rows, row1), c);
    }
}

#endif
