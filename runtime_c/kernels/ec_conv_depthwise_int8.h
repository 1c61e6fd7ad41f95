/* Depthwise convolution of int8, channels last: sums are int32, results int8 or the float32 of that.

   EC_VL channels at a time, or four times as many, and some pixels of a row: the columns that their windows
   read become words (ec_dot_portable.h) one behind the other, with the input's zero point for what lies
   outside.  So the loop over pixels knows no border, and a word is made once for all windows of a row that
   meet it.  A word has `down` rows of `across` columns; a window is sets of `down` kernel rows.  Slices of a kernel
   count as rows.

   A word row, the words of one set, is also what output rows further down read in a set before: of these only `fresh`
   sets are packed, the others are still there.  Output rows of a tensor of one column, `transposed`, are computed
   as the pixels of a row.

   With `phases`, as many as a kernel's columns are apart, pixels so far apart are computed one behind the other: what
   they read are neighbours in the panel, as without dilation.

   Where filters have zero points, w = (q - zero[channel]) * unit[channel], the inputs of a window are summed beside, by
   a filter of ones, for their product with that.

   Needs ec_requantise.h, ec_window.h, and ec_dot_<isa>.h; without that there is nothing here. */
#ifdef EC_DOT_H
#ifndef EC_CONV_DEPTHWISE_INT8_H
#define EC_CONV_DEPTHWISE_INT8_H

#include "ec_depthwise_words.h"

/* Words and sums of a vector, or, of an ISA with groups, of all nv of them. */
#ifndef EC_DOT_GROUPED
typedef ec_ivec ec_dot_sums;
EC_INLINE ec_dot_sums ec_dot_begin(const int32_t *start, int nv) { return (void)nv, ec_iload(start); }
EC_INLINE ec_dot_words ec_dot_load_group(const void *p, int nv) { return (void)nv, ec_dot_load(p); }
EC_INLINE ec_dot_sums ec_dot_add_group(ec_dot_sums sums, ec_dot_words a, ec_dot_words b, int nv)
{
    return (void)nv, ec_dot_add(sums, a, b);
}
EC_INLINE ec_ivec ec_dot_vector(ec_dot_sums sums, int j, int nv) { return (void)j, (void)nv, sums; }
EC_INLINE int ec_dot_group(int nv) { return (void)nv, 1; }
#else
EC_INLINE int ec_dot_group(int nv) { return nv; }
#endif

/* words: of every 4 * EC_VL channels, and of every EC_VL of those that are left (of all, where results
   are not int8 that is rounded once), what sums start with, scalings (ec_scaling.h), and filters, vector by vector, by
   sets and the words across them.
   Where filters have zero points, these are in front of the filters, negative, and behind them is a filter of ones for
   EC_VL channels, zeros where rows or columns are missing.
   panel: room for the word rows of the first of them. */
typedef struct ec_depthwise_int8_operands {
    const int8_t *in;
    const int32_t *words;
    const int8_t *residual;
    void *out;
    char *panel;
    ptrdiff_t at; /* the element of residual and output to begin with */
} ec_depthwise_int8_operands;

/* Pixels [x0, x1) of the output rows [y0, y1), of those of a phase. */
typedef struct ec_depthwise_area {
    int y0, y1, x0, x1;
} ec_depthwise_area;

/* Adds `count` words of a kernel row to the sums of mr pixels, of vectors in a group; bytes from one pixel and from one word
   to the next. */
EC_INLINE void ec_depthwise_int8_line_add(ec_dot_sums *sums, const char *columns, const char *filter, ptrdiff_t pixel,
                                          ptrdiff_t next, int mr, int count, int group)
{
    EC_UNROLL
    for (int k = 0; k < count; k++) {
        const ec_dot_words w = ec_dot_load_group(filter + k * group * EC_DEPTHWISE_VECTOR, group);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            sums[p] = ec_dot_add_group(sums[p], ec_dot_load_group(columns + p * pixel + k * next, group), w, group);
    }
}

/* Where the word row of a set is: by set if they serve further output rows, else one behind the other. */
typedef struct ec_depthwise_rows {
    const char *first, *of[EC_DEPTHWISE_SETS];
} ec_depthwise_rows;

/* The sums of a group of vectors of channels of mr pixels side by side, `at` bytes behind where word rows begin. */
EC_INLINE void ec_depthwise_int8_sum(const ec_depthwise_int8 spec, ec_dot_sums *sums, const ec_depthwise_rows *rows,
                                     ptrdiff_t at, const char *filter, int mr, int nv)
{
    const int sets = ec_depthwise_int8_sets(spec), in_row = ec_depthwise_int8_in_row(spec), group = ec_dot_group(nv);
    const int whole = in_row / EC_DEPTHWISE_LINE * EC_DEPTHWISE_LINE, rest = in_row % EC_DEPTHWISE_LINE;
    const ptrdiff_t far = (ptrdiff_t)nv * EC_DEPTHWISE_VECTOR, room = ec_depthwise_int8_room(spec, nv);
    const ptrdiff_t pixel = spec.window.stride_w * far, next = spec.across * ec_depthwise_int8_dilation(spec) * far;
    const ptrdiff_t filter_next = (ptrdiff_t)group * EC_DEPTHWISE_VECTOR;
    for (int set = 0; set < sets; set++, filter += in_row * filter_next) {
        const char *const columns = (spec.fresh < sets ? rows->of[set] : rows->first + set * room) + at;
        const char *const last = columns + whole * next, *const filters = filter + whole * filter_next;
        for (int k = 0; k < whole; k += EC_DEPTHWISE_LINE)
            ec_depthwise_int8_line_add(sums, columns + k * next, filter + k * filter_next, pixel, next, mr,
                                       EC_DEPTHWISE_LINE, group);
        if (rest == 1)
            ec_depthwise_int8_line_add(sums, last, filters, pixel, next, mr, 1, group);
        else if (rest == 2)
            ec_depthwise_int8_line_add(sums, last, filters, pixel, next, mr, 2, group);
        else if (rest == 3)
            ec_depthwise_int8_line_add(sums, last, filters, pixel, next, mr, 3, group);
    }
}

/* Words of n channels that are taken at once: those in front of their filters, and all. */
EC_INLINE int ec_depthwise_int8_before(const ec_depthwise_int8 spec, int n)
{
#ifdef EC_ZERO_POINTS
    return (EC_SCALING_WORDS + (spec.around ? 1 : 0)) * n;
#else
    (void)spec;
    return EC_SCALING_WORDS * n;
#endif
}
EC_INLINE int ec_depthwise_int8_words(const ec_depthwise_int8 spec, int n)
{
    const int each = ec_depthwise_int8_sets(spec) * ec_depthwise_int8_in_row(spec);
    const int all = ec_depthwise_int8_before(spec, n) + each * n;
#ifdef EC_ZERO_POINTS
    return all + (spec.around ? each * EC_VL : 0);
#else
    return all;
#endif
}

#if defined(EC_ZERO_POINTS) && !defined(EC_DOT_GROUPED)
/* Adds to the sums of vector j of the channels what zero points of filters make of their inputs.  Groups have none: their
   elements are int16, filters less their zero points. */
EC_INLINE void ec_depthwise_int8_around(const ec_depthwise_int8 spec, ec_ivec *sums, const ec_depthwise_rows *rows,
                                        ptrdiff_t at, const int32_t *words, int j, int mr, int nv)
{
    const ec_ivec by_sum = ec_iload(words + (EC_SCALING_WORDS * nv + j) * EC_VL);
    const int behind = ec_depthwise_int8_sets(spec) * ec_depthwise_int8_in_row(spec) * EC_VL;
    const char *const ones = (const char *)(words + ec_depthwise_int8_words(spec, nv * EC_VL) - behind);
    ec_ivec inputs[EC_DOT_PIXELS];
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        inputs[p] = ec_iset1(0);
    ec_depthwise_int8_sum(spec, inputs, rows, at, ones, mr, nv);
    EC_UNROLL
    for (int p = 0; p < mr; p++)
        sums[p] = ec_iadd(sums[p], ec_imul(by_sum, inputs[p]));
}
#endif

/* Results of mr pixels side by side, whose first column is `from` bytes behind where word rows begin, of which the first
   goes to element `at` of the output. */
EC_INLINE void ec_depthwise_int8_pixels(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of,
                                        const ec_depthwise_rows *rows, ptrdiff_t from, ptrdiff_t at, int mr, int n, int nv)
{
    const int words = ec_depthwise_int8_sets(spec) * ec_depthwise_int8_in_row(spec);
    const int32_t *const multiplier = of.words + nv * EC_VL;
    const char *const filter = (const char *)(of.words + ec_depthwise_int8_before(spec, nv * EC_VL));
    const int group = ec_dot_group(nv);
    const ptrdiff_t next = (ptrdiff_t)spec.channels * ec_depthwise_int8_apart(spec);
    ec_requantise as = spec.requantise;
    ec_ivec results[EC_DOT_PIXELS][4];
    ec_dot_sums group_sums[EC_DOT_PIXELS];
    as.apart = nv * EC_VL;
#ifdef EC_NARROWS
    ec_nvec halves[EC_DOT_PIXELS][2];
    ec_requantise_here here;
    if (nv == 4)
        here.offset = ec_noffset_of(as.offset, as.right);
#endif
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_scaling by = ec_scaling_at(multiplier + j * EC_VL, as.apart);
        const ptrdiff_t at_vector = from + j * EC_DEPTHWISE_VECTOR;
        ec_ivec sums[EC_DOT_PIXELS];
        if (j % group == 0) {
            EC_UNROLL
            for (int p = 0; p < mr; p++)
                group_sums[p] = ec_dot_begin(of.words + j * EC_VL, group);
            ec_depthwise_int8_sum(spec, group_sums, rows, at_vector, filter + j * words * EC_DEPTHWISE_VECTOR, mr, nv);
        }
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            sums[p] = ec_dot_vector(group_sums[p], j % group, group);
#if defined(EC_ZERO_POINTS) && !defined(EC_DOT_GROUPED)
        if (spec.around)
            ec_depthwise_int8_around(spec, sums, rows, at_vector, of.words, j, mr, nv);
#endif
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
#ifdef EC_NARROWS
            here.by[j] = by;
            if (nv == 4 && j % 2)
                halves[p][j / 2] = ec_requantised_two(as, &here, results[p][j - 1], sums[p], j - 1, j, here.offset.whole);
            else if (nv == 4)
                results[p][j] = sums[p];
#else
            if (nv == 4)
                results[p][j] = ec_scaled(sums[p], by, as.offset, as.right);
#endif
            else
                ec_requantise_lanes(as, sums[p], by, of.residual, of.out, at + p * next, n);
        }
        EC_IN_ORDER(); /* what is left of a vector is its results, whatever can be loaded of the next one */
    }
    if (nv == 4) {
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            int8_t *const to = (int8_t *)of.out + at + p * next;
#ifdef EC_NARROWS
            ec_nstore_s8_two(to, halves[p][0], halves[p][1], as.low, as.high);
#else
            ec_istore_s8_four(to, results[p], as.low, as.high);
#endif
        }
    }
}

/* `pixels` of a phase, from pixel x of the row (z, y) on, whose word rows are there, the first set's in `place` of the panel. */
EC_INLINE void ec_depthwise_int8_row(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of, int place, int z, int y,
                                     int x, int pixels, int n, int nv)
{
    const ec_window window = spec.window;
    const ptrdiff_t far = (ptrdiff_t)window.stride_w * nv * EC_DEPTHWISE_VECTOR;
    const ptrdiff_t next = (ptrdiff_t)spec.channels * ec_depthwise_int8_apart(spec);
    const ptrdiff_t at = of.at + (ec_row_out(window, z, y) * window.out_w + x) * spec.channels;
    const int sets = ec_depthwise_int8_sets(spec);
    ec_depthwise_rows rows = {.first = of.panel};
    int p = 0;
    if (spec.fresh < sets)
        for (int set = 0; set < sets; set++)
            rows.of[set] = of.panel + (place + set < sets ? place + set : place + set - sets) * ec_depthwise_int8_room(spec, nv);
    for (; p + EC_DOT_PIXELS <= pixels; p += EC_DOT_PIXELS)
        ec_depthwise_int8_pixels(spec, of, &rows, p * far, at + p * next, EC_DOT_PIXELS, n, nv);
    if (EC_DOT_PIXELS > 2 && p + 2 <= pixels) {
        ec_depthwise_int8_pixels(spec, of, &rows, p * far, at + p * next, 2, n, nv);
        p += 2;
    }
    if (p < pixels)
        ec_depthwise_int8_pixels(spec, of, &rows, p * far, at + p * next, 1, n, nv);
}

/* An area of a phase of slice z of the output, of n channels of nv vectors; operands: of the first of them. */
EC_INLINE void ec_depthwise_int8_area(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of, int z,
                                      const ec_depthwise_phase phase, const ec_depthwise_area area, int n, int nv)
{
    const ec_window window = spec.window;
    const int sets = ec_depthwise_int8_sets(spec);
    const int reach = (ec_depthwise_int8_in_row(spec) - 1) * spec.across * ec_depthwise_int8_dilation(spec);
    for (int x = area.x0; x < area.x1; x += spec.pixels) {
        const int pixels = ec_min_i(spec.pixels, area.x1 - x);
        const int column = x * window.stride_w - phase.pad, columns = (pixels - 1) * window.stride_w + reach + 1;
        for (int first = area.y0; first < ec_min_i(area.y0 + spec.every, area.y1); first++) {
            int place = 0;
            for (int y = first; y < area.y1; y += spec.every) {
                const ec_rows met = ec_rows_read(window, z, y);
                for (int set = y == first ? 0 : sets - spec.fresh; set < sets; set++)
                    ec_depthwise_int8_pack(spec, met, set, of.in, phase,
                                           of.panel + (place + set < sets ? place + set : place + set - sets) *
                                                          ec_depthwise_int8_room(spec, nv),
                                           column, columns, n, nv);
                ec_depthwise_int8_row(spec, of, place, z, y, phase.out + x * ec_depthwise_int8_apart(spec), pixels, n, nv);
                place = place + spec.fresh < sets ? place + spec.fresh : place + spec.fresh - sets;
            }
        }
    }
}

/* An area of slice z of the output, of n channels of nv vectors, a phase after the other. */
EC_INLINE void ec_depthwise_int8_phases(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of, int z,
                                        const ec_depthwise_area area, int n, int nv)
{
    if (!spec.phases)
        ec_depthwise_int8_area(spec, of, z, ec_depthwise_int8_phase(spec, 0), area, n, nv);
    for (int i = 0; i < spec.phases; i++) {
        ec_depthwise_area own = area;
        own.x0 = ec_ceil_div(area.x0 - i, spec.phases);
        own.x1 = ec_ceil_div(area.x1 - i, spec.phases);
        ec_depthwise_int8_area(spec, of, z, ec_depthwise_int8_phase(spec, i), own, n, nv);
    }
}

/* The window of a tensor of one column whose rows are taken for the pixels of one. */
EC_INLINE ec_window ec_depthwise_int8_transposed(const ec_window window)
{
    ec_window transposed = window;
    transposed.in_h = window.in_w, transposed.in_w = window.in_h;
    transposed.out_h = window.out_w, transposed.out_w = window.out_h;
    transposed.kernel_h = window.kernel_w, transposed.kernel_w = window.kernel_h;
    transposed.stride_h = window.stride_w, transposed.stride_w = window.stride_h;
    transposed.dilation_h = window.dilation_w, transposed.dilation_w = window.dilation_h;
    transposed.pad_h = window.pad_w, transposed.pad_w = window.pad_h;
    return transposed;
}

/* The output rows [row0, row1). */
EC_NEST void ec_conv_depthwise_int8(const ec_depthwise_int8 given, const ec_depthwise_int8_operands operands,
                                    int row0, int row1)
{
    ec_depthwise_int8 spec = given;
    if (given.transposed)
        spec.window = ec_depthwise_int8_transposed(given.window);
    const ec_window window = spec.window;
    const int once = !spec.requantise.sum_right && !spec.requantise.as_float;
    const int wide = once ? spec.channels / (4 * EC_VL) * 4 * EC_VL : 0;
    const int sets = ec_depthwise_int8_sets(spec);
    const ptrdiff_t in_image = ec_rows_held_in(window) * window.in_w * spec.channels;
    const ptrdiff_t out_image = ec_rows_held_out(window) * window.out_w * spec.channels;
    const int y0 = spec.transposed ? 0 : row0, y1 = spec.transposed ? window.out_h : row1;
    const int rows = spec.fresh < sets ? ec_max_i(y1 - y0, 1) : 1; /* of which all channels are computed in turn */
    for (int i = 0; i < spec.images * window.out_d; i++) {
        const int image = i / window.out_d, z = i % window.out_d;
        for (int y = y0; y < y1; y += rows) {
            const ec_depthwise_area area = {.y0 = y, .y1 = y + rows,
                                            .x0 = spec.transposed ? row0 : 0, .x1 = spec.transposed ? row1 : window.out_w};
            ec_depthwise_int8_operands of = operands;
            of.in += image * in_image;
            of.at = image * out_image;
            for (int c = 0; c < spec.channels;) {
                const int channels = c < wide ? 4 * EC_VL : EC_VL, left = spec.channels - c;
                if (c < wide)
                    ec_depthwise_int8_phases(spec, of, z, area, EC_VL, 4);
                else
                    ec_depthwise_int8_phases(spec, of, z, area, spec.channels % EC_VL ? ec_min_i(left, EC_VL) : EC_VL, 1);
                c += channels;
                of.in += channels;
                of.at += channels;
                of.words += ec_depthwise_int8_words(spec, channels);
            }
        }
    }
}

#endif
#endif
