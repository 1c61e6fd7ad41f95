/* Depthwise convolution of int8 with any kernel whose windows lie side by side, any number of filters per channel: two
   output rows of two channels at a time.

   The panel has for every column and pair of rows those of channels 0, 2, 1 and 3, which is how SXTB16 takes words apart.
   words: of every four channels, for 0 and 2, then 1 and 3: both starts; for every pair of rows of a window, column by
   column, as int16 the filters of both under the first window, then under the second; both scalings (ec_int8_scaling.h).
   Those beyond the last channel are zeros.  Rows of a kernel of one row are turned to columns: what is a row here is then
   a pixel of a row, and rows of the input are what images of one column would be.
   Needs ec_int8_2x2.h and ec_int8_depthwise.h. */
#ifndef EC_INT8_DEPTHWISE_2X2_H
#define EC_INT8_DEPTHWISE_2X2_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_2x2.h"
#endif

/* Pairs of a window, those that its second row of the output needs included. */
EC_INLINE int ec_int8_2x2_taps(const ec_window *window)
{
    return window->kernel_w * ec_int8_2x2_pairs(EC_INT8_2X2_ROWS, window->kernel_h);
}

/* Words of channels 0 and 2, or of 1 and 3. */
EC_INLINE int ec_int8_2x2_words(int taps) { return 2 * EC_INT8_WORDS + 4 * taps; }

/* Windows of a panel, `panel_apart` int16 apart, whose results lie `apart` bytes from one to the next, those of the second row
   `second` bytes from the first one's; 0 where there is none. */
typedef struct ec_int8_2x2_windows {
    const int16_t *panel;
    int taps, count, panel_apart;
    int8_t *out;
    ptrdiff_t apart, second;
} ec_int8_2x2_windows;

/* Channels `half` and 2 + half, as far as there are so many `channels`. */
EC_INLINE void ec_int8_2x2_of_half(ec_int8_result result, ec_int8_2x2_windows of, const int32_t *words, int half,
                                   int channels)
{
    for (int i = 0; i < of.count; i++, of.panel += of.panel_apart, of.out += of.apart)
        for (int k = 0; half + 2 * k < channels; k++) {
            int32_t sums[2] = {words[k], words[k]};
            const int16_t *x = of.panel + 4 * half + 2 * k, *f = (const int16_t *)(words + 2) + 2 * k;
            for (int t = 0; t < of.taps; t++, x += EC_INT8_PAIR_NUMBERS, f += 8) {
                sums[0] += x[0] * f[0] + x[1] * f[1];
                sums[1] += x[0] * f[4] + x[1] * f[5];
            }
            const int32_t *const scaling = words + 2 + 4 * of.taps + k;
            of.out[of.second + 2 * k] = ec_int8_of_sum(result, sums[1], scaling, 2);
            of.out[2 * k] = ec_int8_of_sum(result, sums[0], scaling, 2);
        }
}

EC_SHARED void ec_int8_2x2_windows_of(const ec_int8_result *result, const ec_int8_2x2_windows *of, const int32_t *words,
                                      int channels)
{
#ifdef EC_INT8_DSP
    if (channels == 4 && EC_INT8_IN_ASSEMBLY(*result)) {
        ec_int8_2x2_job job = {
            .panel = of->panel, .words = words, .words_end = words + 2 + 4 * of->taps,
            .panel_skip = (of->panel_apart - of->taps * EC_INT8_PAIR_NUMBERS) * (ptrdiff_t)sizeof(int16_t),
            .out = of->out, .apart = of->apart, .second = of->second,
            .out_end = of->out + of->count * of->apart, .offset = EC_INT8_OFFSET(*result), .right = result->right,
            .left_out = (-of->taps & (EC_INT8_2X2_TAPS - 1)) * EC_INT8_2X2_TAP_BYTES,
            .next_panel = of->panel + 4, .next_out = of->out + 1};
        ec_int8_2x2_dsp(&job);
        if (result->low != INT8_MIN || result->high != INT8_MAX)
            for (int i = 0; i < of->count; i++) {
                ec_int8_bound(*result, of->out + i * of->apart, 4);
                ec_int8_bound(*result, of->out + i * of->apart + of->second, 4);
            }
        return;
    }
#endif
    ec_int8_2x2_of_half(*result, *of, words, 0, channels);
    ec_int8_2x2_windows other = *of;
    other.out++;
    ec_int8_2x2_of_half(*result, other, words + ec_int8_2x2_words(of->taps), 1, channels);
}

/* Whether windows follow each other along a column, as those of an image of one column do, not along a row. */
EC_INLINE int ec_int8_2x2_is_along(const ec_int8_conv *spec) { return ec_int8_is_column(&spec->window); }

/* The pairs of a lattice of one column. */
EC_INLINE void ec_int8_2x2_take_column(const ec_int8_conv *spec, const ec_int8_lattice *of, const ec_int8_four *four,
                                       const int8_t *in, const int8_t *outside, int16_t *panel)
{
    const ptrdiff_t pair = 2 * spec->window.dilation_h * spec->in_row;
    for (int p = of->some.from; p < of->some.to; p++) {
        const int count = p == of->both.from ? ec_max_i(of->both.to - p, 1) : 1;
        const int8_t *const a = ec_int8_2x2_row(spec, of, in, outside, 2 * p);
        const int8_t *const b = count > 1 ? a + pair / 2 : ec_int8_2x2_row(spec, of, in, outside, 2 * p + 1);
        ec_int8_pair_columns(four, a, b, panel + p * EC_INT8_PAIR_NUMBERS, count, pair, EC_INT8_PAIR_NUMBERS);
        p += count - 1;
    }
}

EC_INLINE void ec_int8_2x2_take(const ec_int8_conv *spec, const ec_int8_lattice *of, const ec_int8_four *four,
                                const int8_t *in, const int8_t *outside, int16_t *panel)
{
    const ec_window *w = &spec->window;
    const ec_taps inside = of->inside;
    const int columns = inside.to - inside.from, apart = of->pairs * EC_INT8_PAIR_NUMBERS;
    const ptrdiff_t pixel = w->dilation_w * spec->in_pixel;
    const ptrdiff_t at = (of->x * w->stride_w - w->pad_w) * spec->in_pixel + inside.from * pixel;
    for (int p = 0; columns > 0 && p < of->pairs; p++)
        ec_int8_pair_columns(four, ec_int8_2x2_row(spec, of, in, outside, 2 * p) + at,
                             ec_int8_2x2_row(spec, of, in, outside, 2 * p + 1) + at,
                             panel + inside.from * apart + p * EC_INT8_PAIR_NUMBERS, columns, pixel, apart);
}

EC_INLINE void ec_int8_2x2_of_any(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                  const int8_t *outside, const int32_t *words, int16_t *panel, int8_t *out, int first)
{
    const ec_window *w = &spec->window;
    const ec_int8_four four = ec_int8_four_from(spec, first);
    const int channels = ec_min_i(spec->out_c - first, 4), is_along = ec_int8_2x2_is_along(spec);
    if (is_along)
        ec_int8_2x2_take_column(spec, of, &four, in, outside, panel);
    else
        ec_int8_2x2_take(spec, of, &four, in, outside, panel);
    ec_int8_2x2_windows some = {.panel = panel, .taps = ec_int8_2x2_taps(w), .count = of->columns,
                                .panel_apart = of->across.stride * of->pairs * EC_INT8_PAIR_NUMBERS,
                                .apart = of->across.every * spec->out_pixel};
    for (int i = 0; i < of->rows; i += 2, some.panel += EC_INT8_PAIR_NUMBERS) {
        const int y = of->y + i * of->down.every, has_second = i + 1 < of->rows;
        const int next = ec_ring(y + of->down.every, w->out_ring) - ec_ring(y, w->out_ring);
        some.out = out + ec_ring(y, w->out_ring) * spec->out_row + of->x * spec->out_pixel + first;
        some.second = has_second ? next * spec->out_row : 0;
        if (is_along && has_second) { /* all that have two rows */
            some.count = (of->rows - i) / 2, some.panel_apart = EC_INT8_PAIR_NUMBERS;
            some.apart = 2 * some.second;
            i += 2 * (some.count - 1);
        }
        ec_int8_2x2_windows_of(&spec->result, &some, words, channels);
        if (is_along)
            some.panel += (some.count - 1) * EC_INT8_PAIR_NUMBERS, some.count = 1;
    }
}

EC_INLINE void ec_int8_2x2_of_channels(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                       const int8_t *outside, const int32_t *words, int16_t *panel, void *to)
{
    int8_t *const out = to;
    const int own = 2 * ec_int8_2x2_words(ec_int8_2x2_taps(&spec->window));
    for (int c = 0; c < spec->out_c; c += 4, words += own)
        ec_int8_2x2_of_any(spec, of, in, outside, words, panel, out, c);
}

/* Rows of a kernel of one row as columns. */
EC_INLINE ec_int8_conv ec_int8_2x2_transposed(const ec_int8_conv *spec)
{
    const ec_window *w = &spec->window;
    ec_int8_conv turned = *spec;
    turned.in_row = spec->in_pixel, turned.out_row = spec->out_pixel;
    turned.window = (ec_window){.in_h = w->in_w, .in_w = 1, .out_h = w->out_w, .out_w = 1, .kernel_h = w->kernel_w,
                                .kernel_w = 1, .stride_h = w->stride_w, .stride_w = 1, .dilation_h = w->dilation_w,
                                .dilation_w = 1, .pad_h = w->pad_w};
    return turned;
}

/* Rows [row0, row1) of the output, `together` of a lattice at a time: see ec_int8_2x2_blocks. */
EC_SHARED void ec_int8_2x2_any(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                               int16_t *workspace, int row0, int row1, int together)
{
    ec_int8_2x2_blocks(spec, in, channels, out, workspace, row0, row1, together, 0, ec_int8_2x2_of_channels);
}
EC_INLINE void ec_int8_depthwise_2x2(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                     int16_t *workspace, int row0, int row1)
{
    ec_int8_2x2_any(spec, in, channels, out, workspace, row0, row1, ec_int8_2x2_rows(&spec->window));
}

/* A depthwise layer of a kernel of one row, no row of which lies outside of the input: row by row.  workspace: that of
   a kernel which is turned, all of whose windows are taken together. */
EC_SHARED void ec_int8_depthwise_2x2_transposed(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels,
                                                int8_t *out, int16_t *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const ec_int8_conv turned = ec_int8_2x2_transposed(spec);
    for (int y = row0; y < row1; y++)
        ec_int8_2x2_any(&turned, in + ec_ring(y * w->stride_h, w->in_ring) * spec->in_row, channels,
                        out + ec_ring(y, w->out_ring) * spec->out_row, workspace, 0, w->out_w, w->out_w);
}

#endif
