/* Depthwise convolution of int8, channels last: sums are int32, results int8 or the float32 of that.

   EC_VL channels at a time, or four times as many, and some pixels of a row: the columns that their windows
   read become words (ec_dot_portable.h) one behind the other, with the input's zero point for what lies
   outside.  So the loop over pixels knows no border, and a word is made once for all windows that
   meet it.  Slices of a kernel count as rows.  Where filters have zero points, w = (q - zero[channel]) * unit[channel],
   the inputs of a window are summed beside, by words of ones, for their product with that.

   Needs ec_requantise.h, ec_window.h, and ec_dot_<isa>.h; without that there is nothing here. */
#ifdef EC_DOT_H
#ifndef EC_CONV_DEPTHWISE_INT8_H
#define EC_CONV_DEPTHWISE_INT8_H

enum { EC_DEPTHWISE_WORD = 4 }; /* bytes */

/* Constants at the call. */
typedef struct ec_depthwise_int8 {
    ec_window window;
    int images, channels;
    int zero;   /* what stands for zero in the input */
    int pixels; /* whose columns are packed at a time */
#ifdef EC_ZERO_POINTS
    int around; /* filters have zero points */
#endif
    ec_requantise requantise;
} ec_depthwise_int8;

/* words: of every 4 * EC_VL channels, and of every EC_VL of those that are left (of all, where results
   are not int8 that is rounded once), what sums start with, scalings (ec_scaling.h), and filters by kernel columns and sets of EC_DOT_ROWS rows.
   Where filters have zero points, these are in front of the filters, negative, and behind them, for EC_VL channels and
   every set, a word of ones, zeros where rows are missing.
   panel: room for the columns of the first of them. */
typedef struct ec_depthwise_int8_operands {
    const int8_t *in;
    const int32_t *words;
    const int8_t *residual;
    void *out;
    char *panel;
    ptrdiff_t at; /* the element of residual and output to begin with */
} ec_depthwise_int8_operands;

EC_INLINE int ec_depthwise_int8_sets(const ec_window window)
{
    return ec_ceil_div(window.kernel_d * window.kernel_h, EC_DOT_ROWS);
}

/* Input columns [column, column + count), of rows that `met` names and one set of kernel rows meets: n
   channels of nv vectors from `in` on. */
EC_INLINE void ec_depthwise_int8_pack(const ec_depthwise_int8 spec, const ec_rows met, int set, const int8_t *in,
                                      char *panel, int column, int count, int n, int nv)
{
    const ec_window window = spec.window;
    const int from = ec_min_i(ec_max_i(-column, 0), count); /* of the columns, inside of the input */
    const int to = ec_max_i(ec_min_i(window.in_w - column, count), from);
    const int rows = ec_min_i(window.kernel_d * window.kernel_h - set * EC_DOT_ROWS, EC_DOT_ROWS);
    const ptrdiff_t far = (ptrdiff_t)ec_depthwise_int8_sets(window) * nv * EC_VL * EC_DEPTHWISE_WORD;
    const int8_t *border[EC_DOT_ROWS], *row[EC_DOT_ROWS];
    ptrdiff_t stride[EC_DOT_ROWS];
    int8_t outside[4 * EC_VL];
    memset(outside, spec.zero, sizeof outside);
    EC_UNROLL
    for (int y = 0; y < EC_DOT_ROWS; y++) {
        const int kz = (set * EC_DOT_ROWS + y) / window.kernel_h, ky = (set * EC_DOT_ROWS + y) % window.kernel_h;
        const int inside = kz >= met.kz.from && kz < met.kz.to && ky >= met.ky.from && ky < met.ky.to;
        border[y] = row[y] = outside;
        stride[y] = inside ? spec.channels : 0;
        if (inside)
            row[y] = in + (ec_row_in(window, met, kz, ky) * window.in_w + column + from) * spec.channels;
    }
    for (int i = 0; i < count - (to - from); i++)
        ec_dot_pack(panel + (i < from ? i : i + to - from) * far, border, rows, n, nv);
    for (int i = from; i < to; i++) {
        ec_dot_pack(panel + i * far, row, rows, n, nv);
        EC_UNROLL
        for (int y = 0; y < rows; y++)
            row[y] += stride[y];
    }
}

/* Words of n channels that are taken at once, and those in front of their filters. */
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
    const int sets = ec_depthwise_int8_sets(spec.window), all = ec_depthwise_int8_before(spec, n) + spec.window.kernel_w * sets * n;
#ifdef EC_ZERO_POINTS
    return all + (spec.around ? sets * EC_VL : 0);
#else
    return all;
#endif
}

#ifdef EC_ZERO_POINTS
/* Adds to the sums of mr pixels what zero points of filters make of their inputs. */
EC_INLINE void ec_depthwise_int8_around(const ec_depthwise_int8 spec, const int32_t *words, const char *panel,
                                        ec_ivec *sums, int mr, int nv)
{
    const ec_window window = spec.window;
    const int sets = ec_depthwise_int8_sets(window), vector = EC_VL * EC_DEPTHWISE_WORD;
    const char *const ones = (const char *)(words + ec_depthwise_int8_words(spec, nv * EC_VL) - sets * EC_VL);
    ec_ivec inputs[2 * 4];
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        inputs[i] = ec_iset1(0);
    for (int kx = 0; kx < window.kernel_w; kx++) {
        for (int set = 0; set < sets; set++) {
            const ec_dot_words one = ec_dot_load(ones + set * vector);
            EC_UNROLL
            for (int i = 0; i < mr * nv; i++) {
                const int column = i / nv * window.stride_w + kx * window.dilation_w;
                const ptrdiff_t word = ((ptrdiff_t)(column * sets + set) * nv + i % nv) * vector;
                inputs[i] = ec_dot_add(inputs[i], ec_dot_load(panel + word), one);
            }
        }
    }
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++) {
        const ec_ivec by_sum = ec_iload(words + (EC_SCALING_WORDS * nv + i % nv) * EC_VL);
        sums[i] = ec_iadd(sums[i], ec_imul(by_sum, inputs[i]));
    }
}
#endif

/* Results of mr pixels side by side, whose first column is at `panel`, of which the first goes to element
   `at` of the output. */
EC_INLINE void ec_depthwise_int8_pixels(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of,
                                        const char *panel, ptrdiff_t at, int mr, int n, int nv)
{
    const ec_window window = spec.window;
    const int sets = ec_depthwise_int8_sets(window), vector = EC_VL * EC_DEPTHWISE_WORD;
    const int32_t *const multiplier = of.words + nv * EC_VL;
    const char *filter = (const char *)(of.words + ec_depthwise_int8_before(spec, nv * EC_VL));
    ec_requantise as = spec.requantise;
    ec_ivec sums[2 * 4];
    as.apart = nv * EC_VL;
    EC_UNROLL
    for (int i = 0; i < mr * nv; i++)
        sums[i] = ec_iload(of.words + i % nv * EC_VL);
    for (int kx = 0; kx < window.kernel_w; kx++) {
        for (int set = 0; set < sets; set++) {
            EC_UNROLL
            for (int j = 0; j < nv; j++, filter += vector) {
                const ec_dot_words w = ec_dot_load(filter);
                EC_UNROLL
                for (int p = 0; p < mr; p++) {
                    const int column = p * window.stride_w + kx * window.dilation_w;
                    const ptrdiff_t word = ((ptrdiff_t)(column * sets + set) * nv + j) * vector;
                    sums[p * nv + j] = ec_dot_add(sums[p * nv + j], ec_dot_load(panel + word), w);
                }
            }
        }
    }
#ifdef EC_ZERO_POINTS
    if (spec.around)
        ec_depthwise_int8_around(spec, of.words, panel, sums, mr, nv);
#endif
    EC_UNROLL
    for (int p = 0; p < mr; p++, at += spec.channels) {
        if (nv == 4)
            ec_requantise_four(as, sums + p * nv, multiplier, (int8_t *)of.out + at);
        else
            ec_requantise_lanes(as, sums[p], ec_scaling_at(multiplier, as.apart), of.residual, of.out, at, n);
    }
}

/* Row (z, y) of the output, of n channels of nv vectors; operands: of the first of them. */
EC_INLINE void ec_depthwise_int8_row(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands of, int z, int y,
                                     int n, int nv)
{
    const ec_window window = spec.window;
    const int sets = ec_depthwise_int8_sets(window);
    const ptrdiff_t vectors = (ptrdiff_t)nv * EC_VL * EC_DEPTHWISE_WORD; /* bytes */
    const ec_rows met = ec_rows_read(window, z, y);
    for (int x = 0; x < window.out_w; x += spec.pixels) {
        const ptrdiff_t at = of.at + (ec_row_out(window, z, y) * window.out_w + x) * spec.channels;
        const int pixels = ec_min_i(spec.pixels, window.out_w - x);
        const int columns = (pixels - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
        int p = 0;
        for (int set = 0; set < sets; set++)
            ec_depthwise_int8_pack(spec, met, set, of.in, of.panel + set * vectors,
                                   x * window.stride_w - window.pad_w, columns, n, nv);
        for (; p + 2 <= pixels; p += 2)
            ec_depthwise_int8_pixels(spec, of, of.panel + p * window.stride_w * sets * vectors,
                                     at + p * spec.channels, 2, n, nv);
        if (p < pixels)
            ec_depthwise_int8_pixels(spec, of, of.panel + p * window.stride_w * sets * vectors,
                                     at + p * spec.channels, 1, n, nv);
    }
}

/* The output rows [row0, row1). */
EC_NEST void ec_conv_depthwise_int8(const ec_depthwise_int8 spec, const ec_depthwise_int8_operands operands,
                                    int row0, int row1)
{
    const ec_window window = spec.window;
    const int once = !spec.requantise.sum_right && !spec.requantise.as_float;
    const int wide = once ? spec.channels / (4 * EC_VL) * 4 * EC_VL : 0;
    const ptrdiff_t in_image = ec_rows_held_in(window) * window.in_w * spec.channels;
    const ptrdiff_t out_image = ec_rows_held_out(window) * window.out_w * spec.channels;
    for (int i = 0; i < spec.images * window.out_d; i++) {
        const int image = i / window.out_d, z = i % window.out_d;
        for (int y = row0; y < row1; y++) {
            ec_depthwise_int8_operands of = operands;
            of.in += image * in_image;
            of.at = image * out_image;
            for (int c = 0; c < spec.channels;) {
                const int channels = c < wide ? 4 * EC_VL : EC_VL, left = spec.channels - c;
                if (c < wide)
                    ec_depthwise_int8_row(spec, of, z, y, EC_VL, 4);
                else
                    ec_depthwise_int8_row(spec, of, z, y, spec.channels % EC_VL ? ec_min_i(left, EC_VL) : EC_VL, 1);
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
