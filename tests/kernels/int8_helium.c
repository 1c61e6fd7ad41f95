/* Kernels of Helium with whatever a sum is scaled by (ec_int8_scaling_*.h), against sums in int64 and that header's function of one
   sum.  Writes how many results differ, how many were compared, and how many of these lie between the bounds of int8. */
#include "ec_common.h"
#include "ec_window.h"
#include "ec_int8_channels.h"
#include "ec_int8_panel.h"
#include "ec_int8_rows.h"
#include "ec_int8_1x4.h"
#include "ec_int8_depthwise_3x3_1x8.h"
#include "ec_int8_depthwise_1x8.h"
#include "int8_layers.h"
#include "int8_words.h"

/* Starts and scalings of the even and of the odd ones of eight channels, then their filters. */
static int32_t *by_eight(const layer *of, const int32_t *words)
{
    const ec_window w = of->spec.window;
    const int taps = w.kernel_h * w.kernel_w, each = 8 * EC_INT8_WORDS + 2 * taps;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 7) / 8 * each) * 4);
    for (int c = 0; c < of->spec.out_c; c++) {
        int32_t *const eight = all + c / 8 * each;
        for (int i = 0; i < EC_INT8_WORDS; i++)
            eight[(c % 2 * EC_INT8_WORDS + i) * 4 + c % 8 / 2] = words[c * EC_INT8_WORDS + i];
        for (int k = 0; k < taps; k++)
            ((int8_t *)(eight + 8 * EC_INT8_WORDS))[(k % w.kernel_w * w.kernel_h + k / w.kernel_w) * 8 + c % 8] =
                of->filters[c * taps + k];
    }
    return all;
}

static void depthwise(int c, ec_window w)
{
    layer l = layer_of(c, c, c, w);
    if (IN_SHIFTS)
        l.spec.result.offset = draw(-128, 127);
    int32_t *const words = words_of(&l), *const channels = by_eight(&l, words);
    int8_t *const workspace = bytes_of((size_t)(EC_INT8_COLUMN_BYTES * ec_int8_columns_read(&w) + w.in_w * c));
    int8_t *const others = bytes_of((size_t)(ec_int8_1x8_bytes(&w) + w.in_w * c));
    define_by(&l, words, c);
    ec_int8_depthwise_3x3_1x8(&l.spec, l.in, channels, l.out, workspace, 0, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    memset(l.out, 0, (size_t)l.out_bytes);
    ec_int8_depthwise_1x8(&l.spec, l.in, channels, l.out, others, 0, w.out_h);
    compare(l.out, l.wanted, l.out_bytes);
    free(words), free(channels), free(workspace), free(others), release(&l);
}

static void pixels(int in_c, int out_c, int rows)
{
    const ec_window w = {.in_h = 1, .in_w = rows, .out_h = 1, .out_w = rows, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    layer l = layer_of(in_c, out_c, 1, w);
    if (IN_SHIFTS)
        l.spec.result.offset = draw(-128, 127);
    int32_t *const words = words_of(&l), *const channels = in_sets(&l, words, 4);
    int8_t *const filters = pack_1x4(&l);
    define_by(&l, words, 1);
    ec_int8_convolve_1x4(&l.spec, l.in, filters, channels, l.out, NULL, 0, 1);
    compare(l.out, l.wanted, l.out_bytes);
    free(words), free(channels), free(filters), release(&l);
}

int main(void)
{
    for (int in_c = 1; in_c <= 100; in_c++) /* every kernel and every remainder of its vectors */
        for (int rows = 1; rows <= 7; rows += 2)
            pixels(in_c, draw(1, 13), rows);
    for (int i = 0; i < 60; i++)
        depthwise(draw(1, 20), window_of(3, 0));
    printf("%ld %ld %ld\n", different, compared, between);
    return 0;
}
