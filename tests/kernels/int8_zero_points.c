/* Kernels of four and of eight channels for filters with zero points (ec_zero_points.h), in plain C and for Helium, against sums
   in int64.  Writes how many results differ, how many were compared, and how many of these lie between the bounds of int8. */
#include "ec_common.h"
#include "ec_window.h"
#include "ec_zero_points.h"
#include "ec_int8_channels.h"
#include "ec_int8_panel.h"
#include "ec_int8_rows.h"
#include "ec_int8_1x4.h"
#include "ec_int8_depthwise_1x8.h"
#include "int8_layers.h"

/* Zero points, the extremes among them; multipliers for sums that are four times as large; the results wanted. */
static int *zeros_of(layer *of, int groups)
{
    const int out_c = of->spec.out_c, width = of->spec.window.out_w;
    int *const zeros = bytes_of((size_t)out_c * sizeof *zeros);
    layer ones = *of; /* whose sums are those of the inputs */
    ones.filters = bytes_of((size_t)(out_c * of->per_filter));
    ones.start = bytes_of(4 * (size_t)out_c);
    memset(ones.filters, 1, (size_t)(out_c * of->per_filter));
    for (int o = 0; o < out_c; o++) {
        zeros[o] = draw(0, 3) ? draw(-128, 127) : draw(0, 1) ? 127 : -128;
        of->multiplier[o] = of->multiplier[o] / 4 + 1;
    }
    for (int j = 0; j < of->out_bytes; j++) {
        const int y = j / out_c / width, x = j / out_c % width, o = j % out_c;
        const int64_t sum = sum_of(of, groups, y, x, o) - zeros[o] * sum_of(&ones, groups, y, x, o);
        of->wanted[j] = defined(of->spec.result, sum, of->multiplier[o]);
    }
    of->spec.sums_of_inputs = 1;
    free(ones.filters), free(ones.start);
    return zeros;
}

/* Where the results lie elsewhere, and over the windows that are read no more. */
static void convolve(int in_c, int out_c, ec_window w)
{
    layer l = layer_of(in_c, out_c, 1, w);
    int *const zeros = zeros_of(&l, 1);
    const int fours = (out_c + 3) / 4, copied = ec_int8_is_copied_1x4(&w);
    int8_t *const filters = pack_1x4(&l), *const workspace = bytes_of((size_t)ec_int8_window_bytes_1x4(&l.spec));
    int32_t *const channels = bytes_of(4 * (size_t)(4 * fours * (EC_INT8_WORDS + 1)));
    for (int o = 0; o < out_c; o++) {
        channels[o / 4 * 8 + o % 4] = l.start[o];
        channels[o / 4 * 8 + 4 + o % 4] = l.multiplier[o];
        channels[4 * fours * EC_INT8_WORDS + o] = -zeros[o];
    }
    ec_int8_convolve_1x4(&l.spec, l.in, filters, channels, l.out, workspace, 0, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    int8_t *in, *const over = over_input(&l, apart_of(&l, !copied, 0), &in);
    ec_int8_convolve_1x4(&l.spec, in, filters, channels, over, workspace, 0, w.out_h);
    compare(over, l.wanted, l.out_bytes);
    if (w.in_h == 1 && w.out_w == w.in_w && !copied) {
        memset(l.out, 0, (size_t)l.out_bytes);
        ec_int8_dense_1x4_around(&l.spec.result, l.in, in_c, filters, channels, out_c, l.out, w.in_w);
        compare(l.out, l.wanted, l.out_bytes);
    }
    free(zeros), free(filters), free(workspace), free(channels), free(over), release(&l);
}

static void depthwise(int in_c, int each, ec_window w)
{
    const int out_c = in_c * each, taps = w.kernel_h * w.kernel_w;
    layer l = layer_of(in_c, out_c, in_c, w);
    int *const zeros = zeros_of(&l, in_c);
    const int words = ec_int8_1x8_words(&l.spec);
    int32_t *const channels = bytes_of(4 * (size_t)((out_c + 7) / 8 * words));
    int8_t *const workspace = bytes_of((size_t)(ec_int8_1x8_bytes(&w) + w.in_w * in_c));
    for (int c = 0; c < out_c; c++) {
        int32_t *const eight = channels + c / 8 * words, *const own = eight + c % 2 * 4 * EC_INT8_WORDS + c % 8 / 2;
        own[0] = l.start[c], own[4] = l.multiplier[c];
        for (int k = 0; k < taps; k++)
            ((int16_t *)(eight + 8 * EC_INT8_WORDS))[(k % w.kernel_w * w.kernel_h + k / w.kernel_w) * 8 + c % 8] =
                (int16_t)(l.filters[c * taps + k] - zeros[c]);
    }
    ec_int8_depthwise_1x8(&l.spec, l.in, channels, l.out, workspace, 0, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    free(zeros), free(channels), free(workspace), release(&l);
}

int main(void)
{
    const ec_window one = {.in_h = 1, .in_w = 5, .out_h = 1, .out_w = 5, .kernel_h = 1, .kernel_w = 1, .stride_h = 1,
                           .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    for (int in_c = 1; in_c <= 100; in_c++) /* each remainder of a vector, windows that registers hold and longer ones */
        convolve(in_c, draw(1, 13), one);
    for (int i = 0; i < 60; i++) {
        convolve(draw(1, 20), draw(1, 13), window_of(0, 1));
        convolve(draw(1, 80), draw(1, 13), window_of(1, 0));
        depthwise(draw(1, 20), draw(0, 3) ? 1 : 2, window_of(draw(0, 1) ? 3 : 0, 1));
        depthwise(draw(1, 20), 1, window_of_column());
    }
    printf("%ld %ld %ld\n", different, compared, between);
    return 0;
}
