/* Layers of int8 whose results are real numbers against their sums in int64: units are powers of two, so that a result
   is its sum, rounded once; and between bounds, through which a NaN comes, as ec_activate makes of that.  Writes how many results differ, how many were compared, and how many of these are not 0. */
#include "ec_common.h"
#include "ec_isa_portable.h"
#include "ec_lanes.h"
#include "ec_activation.h"
#include "ec_epilogue.h"
#include "ec_window.h"
#include "ec_int8_channels.h"
#include "ec_int8_panel.h"
#include "ec_int8_1x4.h"
#include "ec_int8_sums.h"
#include "ec_int8_real.h"
#include "ec_int8_rows.h"
#include "ec_int8_depthwise_3x3.h"
#include "ec_int8_depthwise.h"
#include "ec_int8_real_depthwise.h"
#include "ec_int8_2x2.h"
#include "ec_int8_depthwise_2x2.h"
#include "ec_int8_real_2x2.h"
#include "ec_run_time_scale.h"
#include "int8_layers.h"

static const ec_epilogue nothing = {0};

/* A layer of `groups` and its results. */
typedef struct real {
    layer of;
    float *scaling, *wanted, *out;
    int32_t *start;
    ec_int8_reals as;
} real;

static real real_of(int in_c, int out_c, int groups, ec_window window)
{
    real made = {.of = layer_of(in_c, out_c, groups, window)};
    const int room = (out_c + 3) / 4 * 4, width = window.out_w;
    made.scaling = bytes_of(8 * (size_t)room);
    made.start = bytes_of(4 * (size_t)room);
    made.wanted = bytes_of(4 * (size_t)made.of.out_bytes);
    made.out = bytes_of(4 * (size_t)made.of.out_bytes);
    for (int c = 0; c < out_c; c++)
        made.scaling[room + c] = 1.0f / (float)(1 << c % 9), made.start[c] = made.of.start[c];
    for (int y = 0; y < window.out_h; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < out_c; c++) {
                const int64_t sum = sum_of(&made.of, groups, y, x, c);
                made.wanted[(y * width + x) * out_c + c] = (float)sum * made.scaling[room + c];
            }
    made.as = (ec_int8_reals){.start = made.start, .bias = made.scaling, .units_at = room, .padding = made.of.spec.padding, .out = made.out};
    return made;
}

static void judge(const real *found)
{
    for (int i = 0; i < found->of.out_bytes; i++) {
        different += !(found->out[i] == found->wanted[i]);
        between += found->wanted[i] != 0.0f;
        found->out[i] = -1.5f;
    }
    compared += found->of.out_bytes;
}

static void let_go(real *made)
{
    free(made->scaling), free(made->start), free(made->wanted), free(made->out), release(&made->of);
}

/* Each kernel without an epilogue, compiled once for all calls. */
EC_SHARED void convolve(const real *of, const int8_t *filters, void *workspace, int row0, int row1)
{
    ec_int8_real_convolve(&of->of.spec, nothing, of->as, of->of.in, filters, workspace, row0, row1);
}
EC_SHARED void convolve_1x4(const real *of, const int8_t *filters, void *workspace, int row0, int row1)
{
    ec_int8_real_convolve_1x4(&of->of.spec, nothing, of->as, of->of.in, filters, workspace, row0, row1);
}
EC_SHARED void convolve_depthwise(const real *of, const int8_t *filters, int row0, int row1)
{
    ec_int8_real_depthwise(&of->of.spec, nothing, of->as, of->of.in, filters, row0, row1);
}

static void convolution(int in_c, int out_c, ec_window window)
{
    real l = real_of(in_c, out_c, 1, window);
    int8_t *filters;
    int32_t *channels;
    pack(&l.of, 2, &filters, &channels);
    void *const workspace = bytes_of((size_t)(24 * ec_int8_k_blocks(&l.of.spec) + l.of.per_filter));
    const int cut = draw(0, window.out_h);
    convolve(&l, filters, workspace, 0, cut);
    convolve(&l, filters, workspace, cut, window.out_h);
    judge(&l);
    free(filters), free(channels);
    filters = pack_1x4(&l.of);
    convolve_1x4(&l, filters, workspace, 0, cut);
    convolve_1x4(&l, filters, workspace, cut, window.out_h);
    judge(&l);
    free(filters), free(workspace), let_go(&l);
}

static void fully_connected(int in_c, int out_c, int rows)
{
    const ec_window w = {.in_h = rows, .in_w = 1, .out_h = rows, .out_w = 1, .kernel_h = 1, .kernel_w = 1,
                         .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    real l = real_of(in_c, out_c, 1, w);
    int8_t *filters;
    int32_t *channels;
    pack(&l.of, 4, &filters, &channels);
    ec_int8_real_dense(nothing, l.as, l.of.in, in_c, filters, out_c, rows, 0);
    judge(&l);
    free(filters), free(channels);
    filters = pack_1x4(&l.of);
    ec_int8_real_dense(nothing, l.as, l.of.in, in_c, filters, out_c, rows, 1);
    judge(&l);
    free(filters), let_go(&l);
}

static void depthwise(int in_c, int each, ec_window window)
{
    real l = real_of(in_c, in_c * each, in_c, window);
    const int out_c = in_c * each, side = (out_c + 3) / 4 * 4, taps = window.kernel_h * window.kernel_w;
    int8_t *const filters = bytes_of((size_t)(side * taps));
    for (int c = 0; c < out_c; c++)
        for (int k = 0; k < taps; k++)
            filters[k * side + c] = l.of.filters[c * taps + k];
    const int cut = draw(0, window.out_h);
    convolve_depthwise(&l, filters, 0, cut);
    convolve_depthwise(&l, filters, cut, window.out_h);
    judge(&l);
    free(filters), let_go(&l);
}

/* Filters of every four channels, in the order of columns of `nine` numbers or of others. */
static int32_t *columns_of(const layer *of, int nine)
{
    const ec_window w = of->spec.window;
    const int taps = w.kernel_h * w.kernel_w, words = 2 * taps, tall = w.kernel_h / 2 * 2;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * words) * 4);
    for (int c = 0; c < of->spec.out_c; c++) {
        int16_t *const four = (int16_t *)(all + c / 4 * words);
        for (int k = 0; k < taps; k++) {
            const int y = k / w.kernel_w, x = k % w.kernel_w, place = c % 2 * 2 + c % 4 / 2;
            const int pair = nine ? x * 12 + c % 2 * 6 + c % 4 / 2 * 2 + y : ((x * tall + y) / 2 * 4 + place) * 2 + y % 2;
            const int lone = nine ? x * 12 + c % 2 * 6 + 4 + c % 4 / 2 : w.kernel_w * tall * 4 + x * 4 + place;
            four[y < tall ? pair : lone] = of->filters[c * taps + k];
        }
    }
    return all;
}

/* The same with inputs and filters taken apart. */
static void depthwise_columns(int in_c, int each, ec_window window)
{
    real l = real_of(in_c, in_c * each, in_c, window);
    const ec_int8_conv *const spec = &l.of.spec;
    const int nine = each == 1 && window.kernel_h == 3 && window.kernel_w == 3 && window.dilation_w == 1;
    int32_t *const words = columns_of(&l.of, nine);
    const int taken = ec_int8_depthwise_numbers(&window), read = 12 * ec_int8_columns_read(&window);
    const int along = ec_int8_is_column(&window) ? ec_int8_rows_together(&window) : window.out_w;
    const int columns = 2 * (nine ? read : taken) + window.in_w * in_c, cut = draw(0, window.out_h);
    void *const workspace = bytes_of((size_t)(16 * along + columns));
    for (int from = 0, end = cut; from < window.out_h; from = end, end = window.out_h)
        if (nine)
            ec_int8_real_depthwise_3x3(spec, nothing, l.as, l.of.in, words, workspace, from, end);
        else
            ec_int8_real_depthwise_taps(spec, nothing, l.as, l.of.in, words, workspace, from, end);
    judge(&l);
    free(words), free(workspace), let_go(&l);
}

/* Filters of every four channels under two rows of windows, first of channels 0 and 2, then of 1 and 3. */
static int32_t *pairs_of(const layer *of)
{
    const ec_window w = of->spec.window;
    const int pairs = w.kernel_h / 2 + 1, taps = w.kernel_w * pairs;
    int32_t *const all = bytes_of((size_t)((of->spec.out_c + 3) / 4 * 8 * taps) * 4);
    for (int c = 0; c < of->spec.out_c; c++) {
        int16_t *const own = (int16_t *)(all + c / 4 * 8 * taps + c % 2 * 4 * taps) + c % 4 / 2 * 2;
        for (int y = 0; y < w.kernel_h; y++)
            for (int x = 0; x < w.kernel_w; x++) {
                const int16_t filter = of->filters[(c * w.kernel_h + y) * w.kernel_w + x];
                own[(x * pairs + y / 2) * 8 + y % 2] = filter;
                own[(x * pairs + (y + 1) / 2) * 8 + 4 + (y + 1) % 2] = filter;
            }
    }
    return all;
}

/* What differs from `epilogue` of the numbers wanted, of which every third channel's are NaN where `unknown`. */
static void judge_bounds(const real *found, const ec_epilogue epilogue, int unknown)
{
    const int out_c = found->of.spec.out_c;
    for (int i = 0; i < found->of.out_bytes; i++) {
        const float x = unknown && i % out_c % 3 == 0 ? ec_from_bits(0x7fc00000u) : found->wanted[i];
        const float wanted =
            ec_activate(epilogue.before, epilogue.before_alpha, epilogue.before_beta, epilogue.before_gamma, x);
        different += found->out[i] != wanted && (found->out[i] == found->out[i] || wanted == wanted);
        found->out[i] = -1.5f;
    }
}

/* Depthwise layers, pairs of whose rows are those of two windows, between bounds or none. */
static void depthwise_pairs(int in_c, int each, ec_window window, const ec_epilogue epilogue)
{
    real l = real_of(in_c, in_c * each, in_c, window);
    int32_t *const words = pairs_of(&l.of);
    const int numbers = ec_int8_2x2_numbers(&window, ec_int8_2x2_rows(&window)), cut = draw(0, window.out_h);
    void *const workspace = bytes_of((size_t)(32 * window.out_w + 2 * numbers + window.in_w * in_c));
    for (int from = 0, end = cut; from < window.out_h; from = end, end = window.out_h)
        ec_int8_real_depthwise_2x2(&l.of.spec, epilogue, l.as, l.of.in, words, workspace, from, end);
    judge_bounds(&l, epilogue, 0);
    free(words), free(workspace), let_go(&l);
}

/* Convolutions and depthwise layers between bounds. */
EC_NEST void bounds(int in_c, int out_c, ec_window window, const ec_epilogue epilogue)
{
    real l = real_of(in_c, out_c, 1, window), own = real_of(in_c, in_c, in_c, window);
    const int nine = window.kernel_h == 3 && window.kernel_w == 3 && window.dilation_w == 1;
    int8_t *filters;
    int32_t *channels, *const words = columns_of(&own.of, nine);
    const int numbers = ec_max_i(ec_int8_depthwise_numbers(&window), 12 * ec_int8_columns_read(&window));
    void *const workspace = bytes_of((size_t)(24 * ec_int8_k_blocks(&l.of.spec) + l.of.per_filter));
    void *const columns = bytes_of((size_t)(16 * (window.out_w + window.out_h) + 2 * numbers + window.in_w * in_c));
    pack(&l.of, 2, &filters, &channels);
    for (int unknown = 0; unknown < 2; unknown++) {
        for (int c = 0; unknown && c < out_c; c += 3)
            l.scaling[l.as.units_at + c] = ec_from_bits(0x7fc00000u);
        for (int c = 0; unknown && c < in_c; c += 3)
            own.scaling[own.as.units_at + c] = ec_from_bits(0x7fc00000u);
        for (int finite = 0; finite <= !unknown; finite++) {
            l.as.finite = own.as.finite = finite;
            ec_int8_real_convolve(&l.of.spec, epilogue, l.as, l.of.in, filters, workspace, 0, window.out_h);
            judge_bounds(&l, epilogue, unknown);
            if (nine)
                ec_int8_real_depthwise_3x3(&own.of.spec, epilogue, own.as, own.of.in, words, columns, 0, window.out_h);
            else
                ec_int8_real_depthwise_taps(&own.of.spec, epilogue, own.as, own.of.in, words, columns, 0, window.out_h);
            judge_bounds(&own, epilogue, unknown);
        }
    }
    free(filters), free(channels), free(words), free(workspace), free(columns), let_go(&l), let_go(&own);
}

/* Units of run time: which of them are finite. */
static void units(void)
{
    static const int32_t weights[4] = {1, -2, 3, 4};
    static const uint32_t bits[] = {0x7f7fffffu, 0u, 0x00000001u, 0x7f800000u, 0xff800000u, 0x7fc00000u};
    int32_t start[4];
    float unit[3] = {1.0f, 2.0f, 3.0f}, scaling[8];
    for (int i = 0; i < 6; i++) {
        unit[i % 3] = ec_from_bits(bits[i]);
        different += ec_run_time_channels(weights, NULL, unit, 1, 5, start, scaling, 3, 4) != (i < 3);
        different += start[1] != 10 || start[3] != -20;
        unit[i % 3] = 1.0f;
    }
}

int main(void)
{
    static const ec_epilogue relu = {.before = EC_ACT_RELU},
                             clip = {.before = EC_ACT_CLIP, .before_alpha = -90.0f, .before_beta = 500.0f},
                             swish = {.before = EC_ACT_HARD_SWISH, .before_alpha = 0.125f, .before_beta = 0.5f};
    const ec_window dot = {.in_h = 4, .in_w = 3, .out_h = 4, .out_w = 3, .kernel_h = 1, .kernel_w = 1,
                           .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1};
    for (int in_c = 1; in_c <= 40; in_c++) /* every remainder of the loops */
        for (int out_c = 1; out_c <= 9; out_c++) {
            convolution(in_c, out_c, dot);
            fully_connected(in_c, out_c, draw(1, 3));
        }
    for (int i = 0; i < 300; i++) {
        convolution(draw(1, 9), draw(1, 9), window_of(0, 1));
        depthwise(draw(1, 9), draw(1, 3), window_of(0, 1));
        depthwise_columns(draw(1, 9), draw(1, 3), window_of(0, 1));
        depthwise_columns(draw(1, 9), draw(1, 3), window_of_column());
        depthwise_columns(draw(1, 20), 1, window_of(3, 0));
    }
    for (int i = 0; i < 300; i++) {
        ec_window near = window_of(0, 1);
        if (near.kernel_h > 1 && ec_int8_beside(near.stride_h, near.dilation_h).stride == 1 && !ec_int8_is_column(&near))
            depthwise_pairs(draw(1, 9), draw(1, 3), near, i % 2 ? nothing : clip);
    }
    for (int i = 0; i < 20; i++) {
        bounds(draw(1, 9), draw(1, 40), window_of(0, 1), relu);
        bounds(draw(1, 9), draw(1, 40), window_of(0, 1), clip);
        bounds(draw(1, 9), draw(1, 9), window_of(3, 0), swish);
    }
    units();
    printf("%ld %ld %ld\n", different, compared, between);
    return different != 0;
}
