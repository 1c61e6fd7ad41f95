/* Depthwise layers of int8, channels last, whose results are real numbers, where windows lie so close that a pair of numbers
   serves two of them: panels as those of ec_int8_depthwise_2x2.h, four channels of two rows of the output at a time, their
   sums, then what these become (ec_int8_real_depthwise.h).

   filters: of every four output channels, as that header has them, without starts and scalings.
   Needs ec_int8_depthwise_2x2.h and ec_int8_real_depthwise.h. */
#ifndef EC_INT8_REAL_2X2_H
#define EC_INT8_REAL_2X2_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_2x2_sums.h"
#endif

/* Where real numbers go. */
typedef struct ec_int8_real_2x2 {
    ec_epilogue epilogue;
    ec_int8_reals as;
    int32_t *sums; /* of two rows of windows, of four channels each */
} ec_int8_real_2x2;

/* Sums of `count` windows, `panel_apart` int16 apart, and behind these of those of the row below: four of each, which begin
   with those of `start`. */
EC_SHARED void ec_int8_2x2_sums(const int16_t *panel, const int32_t *words, const int32_t *start, int taps, int count,
                                int panel_apart, int32_t *sums)
{
#ifdef EC_INT8_DSP
    ec_int8_2x2_sums_job job = {
        .panel = panel, .words = words, .words_end = words + 4 * taps, .sums = sums,
        .second = 4 * count * (ptrdiff_t)sizeof *sums, .sums_end = sums + 4 * count, .start = start,
        .panel_skip = (panel_apart - taps * EC_INT8_PAIR_NUMBERS) * (ptrdiff_t)sizeof *panel,
        .left_out = (-taps & (EC_INT8_2X2_TAPS - 1)) * EC_INT8_2X2_TAP_BYTES,
        .next_panel = panel + 4, .next_sums = sums + 1};
    ec_int8_2x2_sums_dsp(&job);
#else
    for (int i = 0; i < count; i++, panel += panel_apart, sums += 4)
        for (int c = 0; c < 4; c++) {
            const int16_t *x = panel + 4 * (c % 2) + c / 2 * 2;
            const int16_t *f = (const int16_t *)(words + 4 * taps * (c % 2)) + c / 2 * 2;
            sums[c] = sums[4 * count + c] = start[c];
            for (int t = 0; t < taps; t++, x += EC_INT8_PAIR_NUMBERS, f += 8) {
                sums[c] += x[0] * f[0] + x[1] * f[1];
                sums[4 * count + c] += x[0] * f[4] + x[1] * f[5];
            }
        }
#endif
}

/* All channels of a lattice. */
EC_INLINE void ec_int8_real_2x2_of_channels(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                            const int8_t *outside, const int32_t *words, int16_t *panel, void *to)
{
    const ec_int8_real_2x2 *const real = to;
    const ec_window *w = &spec->window;
    const int taps = ec_int8_2x2_taps(w), apart = of->pairs * EC_INT8_PAIR_NUMBERS;
    const ptrdiff_t pixel = of->across.every * spec->out_pixel;
    for (int c = 0; c < spec->out_c; c += 4, words += 8 * taps) {
        const ec_int8_four four = ec_int8_four_from(spec, c);
        const int some = ec_min_i(spec->out_c - c, 4);
        ec_int8_2x2_take(spec, of, &four, in, outside, panel);
        for (int i = 0; i < of->rows; i += 2) {
            ec_int8_2x2_sums(panel + i / 2 * EC_INT8_PAIR_NUMBERS, words, real->as.start + c, taps, of->columns,
                             of->across.stride * apart, real->sums);
            for (int row = 0; row < ec_min_i(of->rows - i, 2); row++) {
                const int y = of->y + (i + row) * of->down.every;
                const ptrdiff_t at = real->as.at + ec_ring(y, w->out_ring) * spec->out_row + of->x * spec->out_pixel + c;
                ec_int8_real_windows(real->epilogue, real->as, real->sums + 4 * row * of->columns, c, some, at, pixel,
                                     of->columns);
            }
        }
    }
}

/* Rows [row0, row1) of the output.  workspace: what ec_int8_depthwise_2x2 has, behind the sums of two rows of windows, or
   of those whose numbers lie side by side, of four channels. */
EC_INLINE void ec_int8_real_depthwise_2x2(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                          const int8_t *in, const int32_t *filters, int32_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int columns = ec_ceil_div(w->out_w, ec_int8_beside(w->stride_w, w->dilation_w).every);
    ec_int8_conv own = *spec;
    ec_int8_real_2x2 real = {.epilogue = epilogue, .as = as, .sums = workspace};
    own.padding = as.padding;
    ec_int8_2x2_blocks(&own, in, filters, &real, (int16_t *)(workspace + 8 * columns), row0, row1, ec_int8_2x2_rows(w), 0,
                       ec_int8_real_2x2_of_channels);
}

#endif
