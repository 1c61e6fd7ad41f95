/* Kernels of int8 against their definition in int64, over random and extreme geometries.  Writes how many
   results differ, how many were compared, and how many of these lie between the bounds of int8. */
#include "ec_common.h"
#include "ec_window.h"
#include "ec_int8_channels.h"
#include "ec_int8_panel.h"
#include "ec_int8_tile.h"
#include "ec_int8_joined.h"
#include "ec_int8_joined_2x4.h"
#include "ec_int8_dot.h"
#include "ec_int8_dot_joined.h"
#include "ec_int8_rows.h"
#include "ec_int8_depthwise_3x3.h"
#include "ec_int8_depthwise_3x3_border.h"
#include "ec_int8_depthwise.h"
#include "ec_int8_2x2.h"
#include "ec_int8_depthwise_2x2.h"
#include "ec_int8_depthwise_3x3_2x2.h"
#include "ec_int8_depthwise_3x3_6x2.h"
#include "ec_int8_1x4.h"
#include "ec_int8_depthwise_3x3_1x8.h"
#include "ec_int8_depthwise_1x8.h"
#include "ec_int8_add.h"
#include "ec_int8_residual.h"
#include "ec_int8_residual_joined.h"
#include "ec_int8_residual_joined_2x4.h"
#include "ec_int8_residual_depthwise.h"
#include "ec_int8_residual_1x8.h"
#include "int8_layers.h"

typedef void convolve_add(const ec_int8_conv *spec, const ec_int8_residual *add, const int8_t *in, const int8_t *filters,
                          const int32_t *channels, const int8_t *residual, int8_t *out, int16_t *workspace, int row0,
                          int row1);

/* The same with a residual, which lies in the output. */
static void with_residual(const layer *of, convolve_add *kernel, const int8_t *filters, const int32_t *channels, int cut)
{
    const ec_int8_residual add = {.by_sum = draw(1, 1 << 15), .by_residual = draw(1, 1 << 15), .rows = draw(1, 4),
                                  .result = {.offset = draw(-1000000, 1000000), .right = draw(8, 16),
                                             .low = draw(-128, 0), .high = draw(0, 1) ? 127 : 50}};
    const size_t panel = (size_t)ec_max_i(24 * ec_int8_k_blocks(&of->spec), ec_int8_window_bytes_1x4(&of->spec));
    int16_t *const workspace = bytes_of(panel + (size_t)(add.rows * of->spec.out_row) + AHEAD);
    int8_t *const wanted = bytes_of((size_t)of->out_bytes);
    for (int i = 0; i < of->out_bytes; i++) {
        of->out[i] = number(0);
        wanted[i] = floored(add.result, (int64_t)of->wanted[i] * add.by_sum +
                                            (int64_t)of->out[i] * add.by_residual + add.result.offset);
    }
    kernel(&of->spec, &add, of->in, filters, channels, of->out, of->out, workspace, 0, cut);
    kernel(&of->spec, &add, of->in, filters, channels, of->out, of->out, workspace, cut, of->spec.window.out_h);
    compare(of->out, wanted, of->out_bytes);
    free(workspace), free(wanted);
}

/* The input is the residual, too, and the result lies over both. */
static void with_input(const layer *of, const int8_t *filters, const int32_t *channels)
{
    const ec_int8_residual add = {.by_sum = 1 << 12, .by_residual = 900, .rows = draw(1, 4),
                                  .result = {.offset = 1 << 11, .right = 12, .low = -128, .high = 127}};
    const size_t panel = (size_t)ec_max_i(24 * ec_int8_k_blocks(&of->spec), ec_int8_window_bytes_1x4(&of->spec));
    int16_t *const workspace = bytes_of(panel + (size_t)(add.rows * of->spec.out_row));
    int8_t *const wanted = bytes_of((size_t)of->out_bytes), *in;
    int8_t *const out = over_input(of, apart_of(of, 0, 1), &in);
    for (int i = 0; i < of->out_bytes; i++)
        wanted[i] = floored(add.result, (int64_t)of->wanted[i] * add.by_sum +
                                            (int64_t)of->in[i] * add.by_residual + add.result.offset);
    ec_int8_convolve_add(&of->spec, &add, in, filters, channels, in, out, workspace, 0, of->spec.window.out_h);
    compare(out, wanted, of->out_bytes);
    free(workspace), free(wanted), free(out);
}

/* Every `to` numbers of `n` pixels from every `from` ones, of which each has `count`. */
static void spread(const int8_t *of, int from, int8_t *wide, int to, int n, int count)
{
    for (int i = 0; i < n; i++)
        memcpy(wide + i * to, of + i * from, (size_t)count);
}

/* As of a group: pixels of input and output have other channels, too, which stay. */
static void some_channels(const layer *of, const int8_t *filters, const int32_t *channels, int8_t *workspace, int blocks)
{
    const ec_window w = of->spec.window;
    const int in_c = of->spec.in_c, out_c = of->spec.out_c, in_pixel = in_c + draw(1, 5), out_pixel = out_c + draw(1, 5);
    const int pixels = w.out_h * w.out_w;
    ec_int8_conv spec = of->spec;
    spec.in_pixel = in_pixel, spec.in_row = w.in_w * in_pixel;
    spec.out_pixel = out_pixel, spec.out_row = w.out_w * out_pixel;
    int8_t *const in = bytes_of((size_t)(w.in_h * w.in_w * in_pixel)), *const out = bytes_of((size_t)(pixels * out_pixel));
    spread(of->in, in_c, in, in_pixel, w.in_h * w.in_w, in_c);
    memset(out, 77, (size_t)(pixels * out_pixel));
    if (blocks)
        ec_int8_convolve_1x4(&spec, in, filters, channels, out, workspace, 0, w.out_h);
    else
        ec_int8_convolve(&spec, in, filters, channels, out, (int16_t *)workspace, 0, w.out_h);
    for (int i = 0; i < pixels; i++)
        for (int c = out_c; c < out_pixel; c++)
            different += out[i * out_pixel + c] != 77;
    memset(of->out, 0, (size_t)of->out_bytes);
    spread(out, out_pixel, of->out, out_c, pixels, out_c);
    compare(of->out, of->wanted, of->out_bytes);
    free(in), free(out);
}

static void convolution(int in_c, int out_c, ec_window window)
{
    layer l = layer_of(in_c, out_c, 1, window);
    int8_t *filters;
    int32_t *channels;
    define(&l, 1);
    pack(&l, 2, &filters, &channels);
    int16_t *const panel = bytes_of((size_t)(24 * ec_int8_k_blocks(&l.spec)));
    const int cut = draw(0, window.out_h);
    ec_int8_convolve(&l.spec, l.in, filters, channels, l.out, panel, 0, cut);
    ec_int8_convolve(&l.spec, l.in, filters, channels, l.out, panel, cut, window.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    some_channels(&l, filters, channels, (int8_t *)panel, 0);
    with_residual(&l, ec_int8_convolve_add, filters, channels, cut);
    if (window.in_h == window.out_h && window.in_w == window.out_w && in_c == out_c)
        with_input(&l, filters, channels);
    int8_t *in, *out = over_input(&l, apart_of(&l, 0, 0), &in);
    ec_int8_convolve(&l.spec, in, filters, channels, out, panel, 0, cut);
    ec_int8_convolve(&l.spec, in, filters, channels, out, panel, cut, window.out_h);
    compare(out, l.wanted, l.out_bytes);
    free(panel), free(filters), free(channels), free(out);

    pack(&l, 4, &filters, &channels);
    free(filters);
    filters = pack_1x4(&l);
    int8_t *const copy = bytes_of((size_t)ec_int8_window_bytes_1x4(&l.spec));
    memset(l.out, 0, (size_t)l.out_bytes);
    ec_int8_convolve_1x4(&l.spec, l.in, filters, channels, l.out, copy, 0, cut);
    ec_int8_convolve_1x4(&l.spec, l.in, filters, channels, l.out, copy, cut, window.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    out = over_input(&l, apart_of_tiles(&l, 3, 1), &in);
    ec_int8_convolve_1x4(&l.spec, in, filters, channels, out, copy, 0, window.out_h);
    compare(out, l.wanted, l.out_bytes);
    some_channels(&l, filters, channels, copy, 1);
    free(copy), free(filters), free(channels), free(out), release(&l);
}

/* A layer whose filters can be joined. */
static layer joinable(int in_c, int out_c, ec_window window)
{
    layer l = layer_of(in_c, out_c, 1, window);
    for (int i = 0; i < out_c * l.per_filter; i++)
        l.filters[i] = (int8_t)ec_max_i(l.filters[i], -127);
    define(&l, 1);
    return l;
}

typedef void convolve(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters, const int32_t *channels, int8_t *out,
                      int16_t *workspace, int row0, int row1);

/* Filters joined in pairs, `together` at a time. */
static void by_joined(layer *l, int together, convolve *kernel, convolve_add *adds)
{
    int8_t *plain, *in;
    int32_t *channels;
    pack(l, together, &plain, &channels);
    int8_t *const filters = joined(l, plain, together), *const out = over_input(l, apart_of(l, 0, 0), &in);
    int16_t *const panel = bytes_of((size_t)(24 * ec_int8_k_blocks(&l->spec) + AHEAD));
    const int last = l->spec.window.out_h, cut = draw(0, last);
    memset(l->out, 0, (size_t)l->out_bytes);
    kernel(&l->spec, l->in, filters, channels, l->out, panel, 0, cut);
    kernel(&l->spec, l->in, filters, channels, l->out, panel, cut, last);
    compare(l->out, l->wanted, l->out_bytes);
    kernel(&l->spec, in, filters, channels, out, panel, 0, last);
    compare(out, l->wanted, l->out_bytes);
    with_residual(l, adds, filters, channels, cut);
    free(panel), free(plain), free(filters), free(channels), free(out);
}

static void convolution_joined(int in_c, int out_c, ec_window window)
{
    layer l = joinable(in_c, out_c, window);
    by_joined(&l, 2, ec_int8_convolve_joined, ec_int8_convolve_joined_add);
    by_joined(&l, 4, ec_int8_convolve_joined_2x4, ec_int8_convolve_joined_2x4_add);
    release(&l);
}

static void fully_connected_joined(int in_c, int out_c, int rows)
{
    const ec_window w = {.in_h = rows, .in_w = 1, .out_h = rows, .out_w = 1, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    layer l = joinable(in_c, out_c, w);
    int8_t *plain;
    int32_t *channels;
    pack(&l, 4, &plain, &channels);
    int8_t *const filters = joined(&l, plain, 4);
    ec_int8_dense_joined(&l.spec.result, l.in, in_c, filters, channels, out_c, l.out, rows);
    compare(l.out, l.wanted, l.out_bytes);
    free(plain), free(filters), free(channels), release(&l);
}

static void fully_connected(int in_c, int out_c, int rows)
{
    const ec_window w = {.in_h = rows, .in_w = 1, .out_h = rows, .out_w = 1, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    layer l = layer_of(in_c, out_c, 1, w);
    int8_t *filters;
    int32_t *channels;
    define(&l, 1);
    pack(&l, 4, &filters, &channels);
    ec_int8_dense(&l.spec.result, l.in, in_c, filters, channels, out_c, l.out, rows);
    compare(l.out, l.wanted, l.out_bytes);
    free(filters), free(channels), release(&l);
}

/* Rows by Helium's tiles. */
static void fully_connected_1x4(int in_c, int out_c, int rows)
{
    const ec_window w = {.in_h = rows, .in_w = 1, .out_h = rows, .out_w = 1, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    layer l = layer_of(in_c, out_c, 1, w);
    int8_t *filters;
    int32_t *channels;
    define(&l, 1);
    pack(&l, 4, &filters, &channels);
    free(filters);
    filters = pack_1x4(&l);
    ec_int8_dense_1x4(&l.spec.result, l.in, in_c, filters, channels, out_c, l.out, rows);
    compare(l.out, l.wanted, l.out_bytes);
    free(filters), free(channels), release(&l);
}

static void depthwise_3x3_1x8(const layer *of, int8_t *workspace, int cut)
{
    const int in_c = of->spec.in_c, out_h = of->spec.window.out_h;
    int32_t *const words = bytes_of((size_t)((in_c + 7) / 8 * EC_INT8_1X8_WORDS) * 4);
    for (int c = 0; c < in_c; c++) {
        int32_t *const eight = words + c / 8 * EC_INT8_1X8_WORDS + c % 2 * 8 + c % 8 / 2;
        int8_t *const filters = (int8_t *)(words + c / 8 * EC_INT8_1X8_WORDS + 16);
        eight[0] = of->start[c];
        eight[4] = of->multiplier[c];
        for (int k = 0; k < 9; k++)
            filters[k % 3 * 24 + k / 3 * 8 + c % 8] = of->filters[c * 9 + k];
    }
    memset(of->out, 0, (size_t)of->out_bytes);
    if (cut)
        ec_int8_depthwise_3x3_1x8(&of->spec, of->in, words, of->out, workspace, 0, cut);
    if (cut < out_h)
        ec_int8_depthwise_3x3_1x8(&of->spec, of->in, words, of->out, workspace, cut, out_h);
    compare(of->out, of->wanted, of->out_bytes);
    int8_t *in, *const out = over_input(of, rows_apart(of), &in);
    ec_int8_depthwise_3x3_1x8(&of->spec, in, words, out, workspace, 0, out_h);
    compare(out, of->wanted, of->out_bytes);
    free(words), free(out);
}

static void depthwise_3x3_border(const layer *of, const int32_t *words, int cut)
{
    const ec_window *w = &of->spec.window;
    int16_t *const workspace = bytes_of((size_t)(24 * ec_int8_columns_read(w)));
    memset(of->out, 0, (size_t)of->out_bytes);
    if (cut)
        ec_int8_depthwise_3x3_border(&of->spec, of->in, words, of->out, workspace, 0, cut);
    if (cut < w->out_h)
        ec_int8_depthwise_3x3_border(&of->spec, of->in, words, of->out, workspace, cut, w->out_h);
    compare(of->out, of->wanted, of->out_bytes);
    int8_t *in, *const out = over_input(of, rows_apart(of), &in);
    ec_int8_depthwise_3x3_border(&of->spec, in, words, out, workspace, 0, w->out_h);
    compare(out, of->wanted, of->out_bytes);
    free(workspace), free(out);
}

static void depthwise_3x3(int in_c, ec_window window)
{
    const ec_window w = window;
    layer l = layer_of(in_c, in_c, in_c, w);
    define(&l, in_c);
    int32_t *const words = bytes_of((size_t)((in_c + 3) / 4 * EC_INT8_1X4_WORDS) * 4);
    for (int c = 0; c < in_c; c++) {
        int32_t *const four = words + c / 4 * EC_INT8_1X4_WORDS;
        int16_t *const of = (int16_t *)(four + 4);
        four[c % 4] = l.start[c];
        four[22 + c % 4] = l.multiplier[c];
        for (int x = 0; x < 3; x++)
            for (int y = 0; y < 3; y++)
                of[x * 12 + c % 2 * 6 + (y < 2 ? c % 4 / 2 * 2 + y : 4 + c % 4 / 2)] = l.filters[(c * 3 + y) * 3 + x];
    }
    int16_t *const workspace = bytes_of((size_t)(24 * ec_int8_columns_read(&w) + w.in_w * in_c));
    const int cut = draw(0, w.out_h);
    if (cut)
        ec_int8_depthwise_3x3(&l.spec, l.in, words, l.out, workspace, 0, cut);
    if (cut < w.out_h)
        ec_int8_depthwise_3x3(&l.spec, l.in, words, l.out, workspace, cut, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    int8_t *in, *const out = over_input(&l, rows_apart(&l), &in);
    ec_int8_depthwise_3x3(&l.spec, in, words, out, workspace, 0, w.out_h);
    compare(out, l.wanted, l.out_bytes);
    free(out);
    depthwise_3x3_border(&l, words, cut);
    free(words);
    depthwise_3x3_1x8(&l, (int8_t *)workspace, cut);
    free(workspace), release(&l);
}

/* Words of a depthwise layer, `together` output channels at a time (4 or 8), of which `place` says where in a column
   of as many its number of kernel row y lies. */
static int32_t *words_of(const layer *of, int together)
{
    const ec_window w = of->spec.window;
    const int taps = w.kernel_h * w.kernel_w, words = 2 * together + 2 * taps, tall = w.kernel_h / 2 * 2;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + together - 1) / together * words) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        const int in = o % together, place = in % 2 * (together / 2) + in / 2;
        int32_t *const some = all + o / together * words;
        some[together == 8 ? in % 2 * 8 + in / 2 : in] = of->start[o];
        some[together == 8 ? in % 2 * 8 + 4 + in / 2 : 4 + 2 * taps + in] = of->multiplier[o];
        for (int k = 0; k < taps; k++) {
            const int y = k / w.kernel_w, x = k % w.kernel_w;
            const int8_t number = of->filters[o * taps + k];
            if (together == 8)
                ((int8_t *)(some + 16))[(x * w.kernel_h + y) * 8 + in] = number;
            else if (y < tall)
                ((int16_t *)(some + 4))[((x * tall + y) / 2 * 4 + place) * 2 + y % 2] = number;
            else
                ((int16_t *)(some + 4))[w.kernel_w * tall * 4 + x * 4 + place] = number;
        }
    }
    return all;
}

/* Bytes between result and input where all channels of a block of rows are read while it is written. */
static ptrdiff_t blocks_apart(const layer *of, int rows)
{
    const ec_window w = of->spec.window;
    ptrdiff_t found = 0;
    for (int y = 0; y < w.out_h; y += rows) {
        const ptrdiff_t end = ec_min_i(y + rows, w.out_h) * of->spec.out_row;
        const ptrdiff_t first = ec_min_i(ec_max_i(y * w.stride_h - w.pad_h, 0), w.in_h) * of->spec.in_row;
        found = end - first > found ? end - first : found;
    }
    return found < of->out_bytes ? found : of->out_bytes;
}

typedef void depthwise_kernel(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace,
                              int row0, int row1);
static void run_1x4(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                    int row1)
{
    ec_int8_depthwise(&of->spec, in, words, out, workspace, row0, row1);
}
static void run_1x8(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                    int row1)
{
    ec_int8_depthwise_1x8(&of->spec, in, words, out, workspace, row0, row1);
}

/* Any kernel, `each` filters of a channel: alone, over its input, with a residual in its output. */
static void depthwise(int in_c, int each, ec_window window)
{
    const ec_window w = window;
    layer l = layer_of(in_c, in_c * each, in_c, w);
    const int taken[2] = {2 * ec_int8_depthwise_numbers(&w), ec_int8_1x8_bytes(&w)}, cut = draw(0, w.out_h);
    const ec_int8_residual add = {.by_sum = draw(1, 1 << 15), .by_residual = draw(1, 1 << 15),
                                  .result = {.offset = draw(-1000000, 1000000), .right = draw(8, 16),
                                             .low = draw(-128, 0), .high = draw(0, 1) ? 127 : 50}};
    depthwise_kernel *const kernels[2] = {run_1x4, run_1x8};
    int8_t *const added = bytes_of((size_t)l.out_bytes), *in;
    define(&l, in_c);
    for (int i = 0; i < 2; i++) {
        int32_t *const words = words_of(&l, 4 << i);
        int8_t *const workspace = bytes_of((size_t)(taken[i] + w.in_w * in_c + w.out_w * l.spec.out_c));
        memset(l.out, 0, (size_t)l.out_bytes);
        if (cut)
            kernels[i](&l, l.in, words, l.out, workspace, 0, cut);
        if (cut < w.out_h)
            kernels[i](&l, l.in, words, l.out, workspace, cut, w.out_h);
        compare(l.out, l.wanted, l.out_bytes);
        const int block = i ? ec_int8_is_tall(&w) * ec_int8_tall_rows(&w) : ec_int8_is_column(&w) * EC_INT8_ROWS_TOGETHER;
        const ptrdiff_t later = each > 1 || w.dilation_w > 1 ? l.out_bytes : rows_apart(&l);
        int8_t *const out = over_input(&l, block ? blocks_apart(&l, block) : later, &in);
        kernels[i](&l, in, words, out, workspace, 0, w.out_h);
        compare(out, l.wanted, l.out_bytes);
        for (int j = 0; j < l.out_bytes; j++) {
            l.out[j] = number(0);
            added[j] = floored(add.result, (int64_t)l.wanted[j] * add.by_sum + (int64_t)l.out[j] * add.by_residual +
                                               add.result.offset);
        }
        if (i)
            ec_int8_depthwise_1x8_add(&l.spec, &add, l.in, words, l.out, l.out, workspace, 0, w.out_h);
        else
            ec_int8_depthwise_add(&l.spec, &add, l.in, words, l.out, l.out, (int16_t *)workspace, 0, w.out_h);
        compare(l.out, added, l.out_bytes);
        free(words), free(workspace), free(out);
    }
    free(added), release(&l);
}

/* Words of ec_int8_depthwise_2x2.h, of rows that are `turned` to columns too. */
static int32_t *words_of_2x2(const layer *of, int turned)
{
    const ec_window w = of->spec.window;
    const int kernel_h = turned ? w.kernel_w : w.kernel_h, kernel_w = turned ? 1 : w.kernel_w;
    const int pairs = (kernel_h + 2) / 2, taps = pairs * kernel_w, half = 4 + 4 * taps;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * 2 * half) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        int32_t *const some = all + (o / 4 * 2 + o % 2) * half;
        const int place = o % 4 / 2;
        some[place] = of->start[o];
        some[2 + 4 * taps + place] = of->multiplier[o];
        for (int second = 0; second < 2; second++)
            for (int k = 0; k < kernel_h * kernel_w; k++) {
                const int y = k / kernel_w + second, x = k % kernel_w;
                ((int16_t *)(some + 2 + 4 * (x * pairs + y / 2) + 2 * second + place))[y % 2] =
                    of->filters[o * kernel_h * kernel_w + k];
            }
    }
    return all;
}

/* Words of ec_int8_depthwise_3x3_2x2.h. */
static int32_t *words_of_3x3_2x2(const layer *of)
{
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * 4 * EC_INT8_2X2_CHANNEL) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        int16_t *const own = (int16_t *)(all + o * EC_INT8_2X2_CHANNEL);
        for (int x = 0; x < 3; x++)
            for (int i = 0; i < 4; i++)
                own[4 * x + i] = of->filters[(o * 3 + (i + 1) / 2) * 3 + x];
        all[o * EC_INT8_2X2_CHANNEL + 6] = of->start[o];
        all[o * EC_INT8_2X2_CHANNEL + 7] = of->multiplier[o];
    }
    return all;
}

/* Rows of a block. */
static int rows_of_2x2(const ec_window *w)
{
    return ec_int8_2x2_rows(w) * ec_int8_beside(w->stride_h, w->dilation_h).every;
}

static void run_2x2(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                    int row1)
{
    ec_int8_depthwise_2x2(&of->spec, in, words, out, workspace, row0, row1);
}
static void run_2x2_transposed(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                               int row1)
{
    ec_int8_depthwise_2x2_transposed(&of->spec, in, words, out, workspace, row0, row1);
}
static void run_3x3_2x2(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                        int row1)
{
    ec_int8_depthwise_3x3_2x2(&of->spec, in, words, out, workspace, row0, row1);
}
static void run_3x3_6x2(const layer *of, const int8_t *in, const int32_t *words, int8_t *out, void *workspace, int row0,
                        int row1)
{
    ec_int8_depthwise_3x3_6x2(&of->spec, in, words, out, workspace, row0, row1);
}

/* A layer whose windows lie side by side, from row `cut` on in another call, and over its input, `apart` bytes in front. */
static void by_2x2(const layer *of, depthwise_kernel *kernel, int32_t *words, int numbers, ptrdiff_t apart, int cut)
{
    const ec_window w = of->spec.window;
    int16_t *const workspace = bytes_of((size_t)(2 * numbers + w.in_w * of->spec.in_c));
    int8_t *in, *const out = over_input(of, apart, &in);
    memset(of->out, 0, (size_t)of->out_bytes);
    if (cut)
        kernel(of, of->in, words, of->out, workspace, 0, cut);
    if (cut < w.out_h)
        kernel(of, of->in, words, of->out, workspace, cut, w.out_h);
    compare(of->out, of->wanted, of->out_bytes);
    kernel(of, in, words, out, workspace, 0, w.out_h);
    compare(out, of->wanted, of->out_bytes);
    free(workspace), free(words), free(out);
}

static void depthwise_2x2(int in_c, int each, ec_window window)
{
    const ec_window w = window;
    layer l = layer_of(in_c, in_c * each, in_c, w);
    const int cut = draw(0, w.out_h), side_by_side = w.dilation_w % w.stride_w == 0;
    define(&l, in_c);
    if (w.dilation_h % w.stride_h == 0)
        by_2x2(&l, run_2x2, words_of_2x2(&l, 0), ec_int8_2x2_numbers(&w, ec_int8_2x2_rows(&w)),
               blocks_apart(&l, rows_of_2x2(&w)), cut);
    if (w.dilation_h % w.stride_h == 0 && side_by_side && each == 1 && w.kernel_h == 3 && w.kernel_w == 3) {
        const int every = ec_int8_beside(w.stride_h, w.dilation_h).every, one = every == 1 && w.dilation_w == w.stride_w;
        by_2x2(&l, run_3x3_2x2, words_of_3x3_2x2(&l), ec_int8_3x3_numbers(&w, EC_INT8_2X2_READ),
               one ? rows_apart(&l) : blocks_apart(&l, EC_INT8_2X2_ROWS * every), cut);
        by_2x2(&l, run_3x3_6x2, words_of_3x3_2x2(&l), ec_int8_3x3_numbers(&w, EC_INT8_6X2_READ),
               one ? rows_apart(&l) : blocks_apart(&l, EC_INT8_6X2_ROWS * every), cut);
    }
    const int last = (w.out_h - 1) * w.stride_h;
    if (w.kernel_h == 1 && w.kernel_w > 1 && side_by_side && !w.pad_h && last < w.in_h) {
        const ec_window turned = ec_int8_2x2_transposed(&l.spec).window;
        by_2x2(&l, run_2x2_transposed, words_of_2x2(&l, 1), ec_int8_2x2_numbers(&turned, turned.out_h),
               blocks_apart(&l, 1), cut);
    }
    release(&l);
}

/* Every pair of numbers. */
static void addition(void)
{
    ec_int8_result result = result_of();
    result.right = draw(8, 20);
    result.offset = draw(-10, 10) * (1 << result.right);
    const int32_t by_a = draw(1, 2 << result.right), by_b = draw(1, 2 << result.right);
    int8_t a[256], b[256], wanted[256];
    for (int i = 0; i < 256; i++) {
        for (int j = 0; j < 256; j++) {
            a[j] = (int8_t)(i - 128);
            b[j] = (int8_t)(j - 128);
            wanted[j] = floored(result, (int64_t)a[j] * by_a + (int64_t)b[j] * by_b + result.offset);
        }
        ec_int8_add(&result, by_a, by_b, 0, a, b, i % 2 ? a : b, 256);
        compare(i % 2 ? a : b, wanted, 256);
    }
}

/* A row of more pixels than one panel has, or is copied at a time. */
static ec_window wide(ec_window window)
{
    const int more = draw(4, 24);
    window.in_w += more * window.stride_w;
    window.out_w += more;
    return window;
}

int main(void)
{
    const ec_window dot = {.in_h = 4, .in_w = 3, .out_h = 4, .out_w = 3, .kernel_h = 1, .kernel_w = 1,
                           .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    for (int in_c = 1; in_c <= 40; in_c++) /* every remainder of the loops */
        for (int out_c = 1; out_c <= 9; out_c++) {
            convolution(in_c, out_c, dot);
            fully_connected(in_c, out_c, draw(1, 3));
            ec_window rows = dot;
            rows.in_w = rows.out_w = draw(1, 9);
            convolution_joined(in_c, out_c, rows);
            fully_connected_joined(in_c, out_c, draw(1, 3));
        }
    for (int i = 0; i < 60; i++) { /* windows that registers do not hold, in threes and alone */
        ec_window rows = dot;
        rows.in_w = rows.out_w = draw(1, 4);
        convolution(draw(41, 150), draw(1, 9), rows);
        fully_connected_1x4(draw(41, 150), draw(1, 9), draw(1, 8));
    }
    for (int i = 0; i < 20; i++) { /* the largest sums that may be */
        convolution_joined(516, draw(1, 9), dot);
        fully_connected_joined(516, draw(1, 9), draw(1, 3));
    }
    for (int i = 0; i < 600; i++) {
        convolution(draw(1, 9), draw(1, 9), window_of(0, 1));
        convolution_joined(draw(1, 9), draw(1, 9), window_of(0, 1));
        if (i % 8 == 0)
            convolution_joined(3, draw(2, 9), window_of(3, 0)); /* windows of 27 numbers */
        depthwise_3x3(draw(1, 20), window_of(3, 0));
        depthwise(draw(1, 9), draw(1, 3), window_of(0, 1));
        depthwise(draw(1, 9), draw(1, 3), window_of_column());
        depthwise_2x2(draw(1, 20), draw(1, 3), window_of(0, 1));
        depthwise_2x2(draw(1, 20), 1, taller(window_of(3, 1), draw(0, 8)));
        depthwise_2x2(draw(1, 9), draw(1, 3), window_of_column());
    }
    for (int i = 0; i < 200; i++)
        convolution_joined(draw(1, 9), draw(1, 9), wide(window_of(i % 2 ? 3 : 0, i % 3 == 0)));
    for (int i = 0; i < 4; i++)
        addition();
    printf("%ld %ld %ld\n", different, compared, between);
    return different != 0;
}
