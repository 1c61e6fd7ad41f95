/* Depthwise kernels of int8 by pairs of rows, and filters joined in pairs, with whatever a sum is scaled by (ec_int8_scaling_*.h), against sums in int64
   and that header's function of one sum.  Writes how many results differ, how many were compared, and how many of these lie
   between the bounds of int8. */
#include "ec_common.h"
#include "ec_window.h"
#include "ec_int8_channels.h"
#include "ec_int8_panel.h"
#include "ec_int8_rows.h"
#include "ec_int8_depthwise.h"
#include "ec_int8_depthwise_3x3.h"
#include "ec_int8_2x2.h"
#include "ec_int8_depthwise_2x2.h"
#include "ec_int8_depthwise_3x1.h"
#include "ec_int8_depthwise_3x3_2x2.h"
#include "ec_int8_depthwise_3x3_6x2.h"
#include "ec_int8_1x4.h"
#include "ec_int8_tile.h"
#include "ec_int8_joined.h"
#include "ec_int8_joined_2x4.h"
#include "ec_int8_dot.h"
#include "ec_int8_dot_joined.h"
#include "int8_layers.h"
#include "int8_words.h"

/* In the order of ec_int8_depthwise_3x3_2x2.h. */
static int32_t *by_channel(const layer *of, const int32_t *words)
{
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * 4 * EC_INT8_2X2_CHANNEL) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        int32_t *const own = all + o * EC_INT8_2X2_CHANNEL;
        for (int i = 0; i < 12; i++)
            ((int16_t *)own)[i] = of->filters[(o * 3 + (i % 4 + 1) / 2) * 3 + i / 4];
        memcpy(own + 6, words + o * EC_INT8_WORDS, EC_INT8_WORDS * 4);
    }
    return all;
}

/* In that of ec_int8_depthwise_2x2.h. */
static int32_t *by_half(const layer *of, const int32_t *words)
{
    const ec_window w = of->spec.window;
    const int pairs = w.kernel_h / 2 + 1, taps = pairs * w.kernel_w, half = 2 * EC_INT8_WORDS + 4 * taps;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * 2 * half) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        int32_t *const own = all + (o / 4 * 2 + o % 2) * half;
        const int place = o % 4 / 2;
        own[place] = words[o * EC_INT8_WORDS];
        for (int i = 1; i < EC_INT8_WORDS; i++)
            own[4 * taps + 2 * i + place] = words[o * EC_INT8_WORDS + i];
        for (int k = 0; k < 2 * w.kernel_h * w.kernel_w; k++) {
            const int second = k % 2, x = k / 2 % w.kernel_w, ky = k / 2 / w.kernel_w, y = ky + second;
            ((int16_t *)(own + 2 + 4 * (x * pairs + y / 2) + 2 * second + place))[y % 2] =
                of->filters[(o * w.kernel_h + ky) * w.kernel_w + x];
        }
    }
    return all;
}

/* In that of ec_int8_depthwise_3x3.h. */
static int32_t *by_window(const layer *of, const int32_t *words)
{
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * EC_INT8_1X4_WORDS) * 4);
    for (int o = 0; o < of->spec.out_c; o++) {
        int32_t *const own = all + o / 4 * EC_INT8_1X4_WORDS;
        const int c = o % 4;
        own[c] = words[o * EC_INT8_WORDS];
        for (int i = 1; i < EC_INT8_WORDS; i++)
            own[18 + 4 * i + c] = words[o * EC_INT8_WORDS + i];
        for (int k = 0; k < 9; k++) {
            int16_t *const half = (int16_t *)(own + 4) + k % 3 * EC_INT8_COLUMN_NUMBERS + c % 2 * 6;
            half[k / 3 < 2 ? c / 2 * 2 + k / 3 : 4 + c / 2] = of->filters[o * 9 + k];
        }
    }
    return all;
}

/* Windows of 3 x 3, some columns apart. */
static void apart(int c, ec_window w)
{
    layer l = layer_of(c, c, c, w);
    if (IN_SHIFTS)
        l.spec.result.offset = draw(-128, 127);
    int32_t *const words = words_of(&l), *const channels = by_window(&l, words);
    for (int j = 0; j < l.out_bytes; j++)
        l.wanted[j] = ec_int8_of_sum(l.spec.result, (int32_t)sum_of(&l, c, j / c / w.out_w, j / c % w.out_w, j % c),
                                     words + j % c * EC_INT8_WORDS + 1, 1);
    int16_t *const workspace = bytes_of((size_t)(2 * EC_INT8_COLUMN_NUMBERS * ec_int8_columns_read(&w) + w.in_w * c));
    ec_int8_depthwise_3x3(&l.spec, l.in, channels, l.out, workspace, 0, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    free(words), free(channels), free(workspace), release(&l);
}

/* Pixels of in_c channels under out_c filters, which are joined by two, or by four as of a fully connected layer. */
static void in_pairs(int in_c, int out_c, int together)
{
    const int rows = draw(1, 9);
#ifdef EC_INT8_RIGHT
    own_shift = draw(0, 1);
#endif
    const ec_window w = {.in_h = 1, .in_w = rows, .out_h = 1, .out_w = rows, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    layer l = layer_of(in_c, out_c, 1, w);
    int8_t *plain;
    int32_t *unused;
    if (IN_SHIFTS)
        l.spec.result.offset = draw(-128, 127);
    for (int i = 0; i < in_c * out_c; i++)
        l.filters[i] = (int8_t)ec_max_i(l.filters[i], -127);
    int32_t *const words = words_of(&l), *const channels = in_sets(&l, words, together);
    for (int j = 0; j < l.out_bytes; j++)
        l.wanted[j] = ec_int8_of_sum(l.spec.result, (int32_t)sum_of(&l, 1, 0, j / out_c, j % out_c),
                                     words + j % out_c * EC_INT8_WORDS + 1, 1);
    pack(&l, together, &plain, &unused);
    int8_t *const filters = joined(&l, plain, together);
    int16_t *const panel = bytes_of((size_t)(24 * ec_int8_k_blocks(&l.spec) + AHEAD));
    if (together == 2)
        ec_int8_convolve_joined(&l.spec, l.in, filters, channels, l.out, panel, 0, 1);
    else
        ec_int8_dense_joined(&l.spec.result, l.in, in_c, filters, channels, out_c, l.out, rows);
    compare(l.out, l.wanted, l.out_bytes);
    if (together == 4) {
        for (int j = 0; j < l.out_bytes; j++)
            l.out[j] = 0;
        ec_int8_convolve_joined_2x4(&l.spec, l.in, filters, channels, l.out, panel, 0, 1);
        compare(l.out, l.wanted, l.out_bytes);
    }
    free(words), free(channels), free(plain), free(unused), free(filters), free(panel), release(&l);
}

/* A layer that is wanted of the function of one sum, depthwise, and the words of its channels. */
static layer depthwise_of(int c, ec_window w, int32_t **words)
{
    layer l = layer_of(c, c, c, w);
    if (IN_SHIFTS)
        l.spec.result.offset = draw(-128, 127);
    *words = words_of(&l);
    for (int j = 0; j < l.out_bytes; j++) {
        const int32_t sum = (int32_t)sum_of(&l, c, j / c / w.out_w, j / c % w.out_w, j % c);
        l.wanted[j] = ec_int8_of_sum(l.spec.result, sum, *words + j % c * EC_INT8_WORDS + 1, 1);
    }
    return l;
}

/* Windows of three numbers, down a column or along a row, of which up to two lie outside of the input at either end. */
static void three(int along_row)
{
    const int c = draw(1, 12), apart = draw(1, 3), stride = draw(1, 4) / 4 + 1, pad = draw(0, 2 * apart);
    const int beyond = draw(0, 2 * apart), size = draw(1, 25), lines = draw(1, 5), room = pad + size + beyond - 2 * apart - 1;
    if (room < 0 || apart % stride)
        return;
    ec_window w = {.in_h = size, .in_w = lines, .out_h = room / stride + 1, .out_w = lines, .kernel_h = 3, .kernel_w = 1,
                   .stride_h = stride, .stride_w = 1, .dilation_h = apart, .dilation_w = 1, .pad_h = pad};
    if (along_row)
        w = (ec_window){.in_h = lines, .in_w = size, .out_h = lines, .out_w = room / stride + 1, .kernel_h = 1, .kernel_w = 3,
                        .stride_h = 1, .stride_w = stride, .dilation_h = 1, .dilation_w = apart, .pad_w = pad};
    int32_t *words;
    layer l = depthwise_of(c, w, &words), turned = l;
    const int cut = draw(0, w.out_h);
    if (along_row)
        turned.spec = ec_int8_2x2_transposed(&l.spec);
    const int numbers = ec_int8_2x2_numbers(&turned.spec.window, along_row ? w.out_w : ec_int8_2x2_rows(&w));
    int16_t *const workspace = bytes_of((size_t)(2 * numbers + w.in_w * c));
    int32_t *const halves = by_half(&turned, words);
    if (along_row)
        ec_int8_depthwise_3x1_transposed(&l.spec, l.in, halves, l.out, workspace, 0, w.out_h);
    else {
        ec_int8_depthwise_3x1(&l.spec, l.in, halves, l.out, workspace, 0, cut);
        ec_int8_depthwise_3x1(&l.spec, l.in, halves, l.out, workspace, cut, w.out_h);
    }
    compare(l.out, l.wanted, l.out_bytes);
    if (along_row && apart == 1 && w.out_w == size) { /* in the place of the input, which other kernels allow, too */
        memcpy(l.out, l.in, (size_t)l.out_bytes);
        ec_int8_depthwise_3x1_transposed(&l.spec, l.out, halves, l.out, workspace, 0, w.out_h);
        compare(l.out, l.wanted, l.out_bytes);
    }
    free(words), free(halves), free(workspace), release(&l);
}

int main(void)
{
    for (int i = 0; i < 200; i++)
        in_pairs(4 * draw(1, 20), draw(1, 9), i % 2 ? 2 : 4);
#ifdef EC_INT8_RIGHT
    own_shift = 0;
#endif
    for (int i = 0; i < 100; i++)
        apart(4 * draw(1, 3), window_of(3, 0));
    for (int i = 0; i < 400; i++) {
        const int c = draw(1, 12);
        ec_window w = taller(window_of(i % 2 ? 3 : 0, 1), i % 2 ? draw(0, 8) : 0);
        if (w.dilation_h % w.stride_h || w.dilation_w % w.stride_w)
            continue;
        int32_t *words;
        layer l = depthwise_of(c, w, &words);
        const int numbers = ec_max_i(ec_int8_2x2_numbers(&w, ec_int8_2x2_rows(&w)), ec_int8_3x3_numbers(&w, EC_INT8_6X2_READ));
        int16_t *const workspace = bytes_of((size_t)(2 * numbers + w.in_w * c));
        int32_t *const halves = by_half(&l, words), *const channels = i % 2 ? by_channel(&l, words) : NULL;
        ec_int8_depthwise_2x2(&l.spec, l.in, halves, l.out, workspace, 0, w.out_h);
        compare(l.out, l.wanted, l.out_bytes);
        if (i % 2) {
            for (int j = 0; j < l.out_bytes; j++)
                l.out[j] = 0;
            ec_int8_depthwise_3x3_2x2(&l.spec, l.in, channels, l.out, workspace, 0, w.out_h);
            compare(l.out, l.wanted, l.out_bytes);
            for (int j = 0; j < l.out_bytes; j++)
                l.out[j] = 0;
            ec_int8_depthwise_3x3_6x2(&l.spec, l.in, channels, l.out, workspace, 0, w.out_h);
            compare(l.out, l.wanted, l.out_bytes);
        }
        free(words), free(halves), free(channels), free(workspace), release(&l);
    }
    for (int i = 0; i < 400; i++)
        three(i % 2);
    printf("%ld %ld %ld\n", different, compared, between);
    return different != 0;
}
