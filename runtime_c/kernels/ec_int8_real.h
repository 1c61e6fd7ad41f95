/* Layers of int8, channels last, whose results are real numbers: sums in int32, then

       y = epilogue((start[channel] + sum) * unit[channel] + bias[channel])

   start: what is left of zero points, and a bias that is a whole number of units; nothing of a sum overflows.
   Where filters have zero points, sums have these, times the sum of the inputs, too.
   Filters lie as in ec_int8_tile.h, ec_int8_dot.h and, in sixteens, ec_int8_1x4.h.
   Needs ec_epilogue.h and ec_int8_sums.h. */
#ifndef EC_INT8_REAL_H
#define EC_INT8_REAL_H

/* What sums become, of the channels of a group.  units_at: floats from a channel's bias to its unit.  finite: no unit and
   no bias is infinite or NaN.  padding: what lies outside of the input, its zero point.  `out` and `residual` begin with the tensor, whose element number `at` is the first of the
   group. */
typedef struct ec_int8_reals {
    const int32_t *start;
#ifdef EC_ZERO_POINTS
    const int32_t *by_sum; /* zero points of the filters, negative, or NULL where the sum of inputs is in a panel */
#endif
    const float *bias;
    ptrdiff_t units_at;
    int finite, padding;
    const void *residual;
    void *out;
    ptrdiff_t at;
} ec_int8_reals;

/* The results of n channels from number c on at element `at` of the tensor. */
EC_INLINE void ec_int8_real_finish(const ec_epilogue epilogue, const ec_int8_reals as, const int32_t *sums, int c, int n,
                                   ptrdiff_t at)
{
    for (int i = 0; i < n; i++) {
        const float sum = (float)(as.start[c + i] + sums[i]);
        const float *const own = as.bias + c + i;
        const ec_vec result = ec_fma(ec_set1(sum), ec_set1(own[as.units_at]), ec_set1(own[0]));
        if (as.finite && ec_bounds_numbers(epilogue.before))
            ec_finish_number(epilogue, result, as.residual, as.out, at + i, 1);
        else
            ec_finish(epilogue, result, as.residual, as.out, at + i, 1);
    }
}

/* The results of channel c of n pixels, whose sums, begun with `start`, lie `apart`, the first at element `at` of the
   tensor, `pixel` from one to the next. */
EC_INLINE void ec_int8_real_pixels(const ec_epilogue epilogue, const ec_int8_reals as, const int32_t *sums, int apart, int c,
                                   ptrdiff_t at, ptrdiff_t pixel, int n)
{
    const ec_vec bias = ec_set1(as.bias[c]), unit = ec_set1(as.bias[c + as.units_at]);
    if (as.finite && ec_bounds_numbers(epilogue.before)) {
        for (int p = 0; p < n; p++)
            ec_finish_number(epilogue, ec_fma(ec_set1((float)sums[p * apart]), unit, bias), as.residual, as.out,
                             at + p * pixel, 1);
        return;
    }
    for (int p = 0; p < n; p++)
        ec_finish(epilogue, ec_fma(ec_set1((float)sums[p * apart]), unit, bias), as.residual, as.out, at + p * pixel, 1);
}

/* Filters whose sums of a panel wait for what becomes of them. */
#if defined(EC_INT8_DSP) && !defined(EC_INT8_HELIUM)
enum { EC_INT8_REAL_FILTERS = 16 };
#else
enum { EC_INT8_REAL_FILTERS = 2 };
#endif

/* The pixels [from, EC_INT8_PIXELS) of a panel, or the first alone where it holds that only, under all filters. */
EC_INLINE void ec_int8_real_filters(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                    const int16_t *panel, const int8_t *filters, ptrdiff_t at, int from, int count)
{
    const int k_blocks = ec_int8_k_blocks(spec);
    for (int c = 0; c < spec->out_c; c += EC_INT8_REAL_FILTERS, filters += 4 * EC_INT8_REAL_FILTERS * k_blocks) {
        const int together = ec_min_i(EC_INT8_REAL_FILTERS, spec->out_c - c);
        int32_t sums[EC_INT8_REAL_FILTERS * EC_INT8_PIXELS];
        ec_int8_tile_sums(panel, filters, as.start + c, k_blocks, ec_ceil_div(together, 2), sums);
        for (int i = 0; i < together; i++) {
            const int32_t *const own = sums + i * EC_INT8_PIXELS;
            if (count - from == EC_INT8_PIXELS)
                ec_int8_real_pixels(epilogue, as, own, 1, c + i, at + c + i, spec->out_pixel, EC_INT8_PIXELS);
            else
                for (int p = from; p < count; p++)
                    ec_int8_real_pixels(epilogue, as, own + p, 1, c + i, at + p * spec->out_pixel + c + i, 0, 1);
        }
    }
}

/* Rows [row0, row1) of the output, three pixels at a time; the last three of a row overlap those before, whose windows
   are kept.  workspace: a panel. */
EC_INLINE void ec_int8_real_convolve(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                     const int8_t *in, const int8_t *filters, void *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    int16_t *const panel = workspace;
    const int together = spec->out_row == w->out_w * spec->out_pixel && !w->out_ring ? row1 - row0 : 1;
    const int pixels = together * w->out_w, few = pixels < EC_INT8_PIXELS, wide = few ? 1 : EC_INT8_PIXELS;
    for (int y = row0; y < row1; y += together) {
        const int8_t *const row = ec_int8_is_pointwise(spec, pixels)
                                      ? in + ec_ring(y, w->in_ring) * spec->in_row : NULL;
        const ptrdiff_t at = as.at + ec_ring(y, w->out_ring) * spec->out_row;
        for (int i = 0; i < pixels; i += wide) {
            const int first = few ? i : ec_min_i(i, pixels - EC_INT8_PIXELS);
            if (first < i)
                ec_int8_keep_pixels(panel, ec_int8_k_blocks(spec), EC_INT8_PIXELS, i - first);
            ec_int8_pack_panel(spec, in, row, as.padding, panel, y, first, !few, i - first, EC_INT8_PIXELS);
            ec_int8_real_filters(spec, epilogue, as, panel, filters, at + first * spec->out_pixel, i - first, wide);
        }
    }
}

/* A window of n numbers under all filters, four at a time. */
EC_INLINE void ec_int8_real_pixel(const ec_epilogue epilogue, const ec_int8_reals as, const int8_t *in, int n,
                                  const int8_t *filters, int out_c, ptrdiff_t at, int sixteens)
{
    const ptrdiff_t four = 4 * (ptrdiff_t)ec_ceil_div(n, sixteens ? 16 : 4) * (sixteens ? 16 : 4);
#ifdef EC_ZERO_POINTS
    const int32_t sum = as.by_sum ? ec_sum_of_inputs(in, n) : 0;
#endif
    for (int c = 0; c < out_c; c += 4, filters += four) {
        int32_t sums[4];
        if (sixteens)
            ec_int8_1x4_sums(in, n, filters, sums);
        else
            ec_int8_dot_sums(in, n, filters, sums);
#ifdef EC_ZERO_POINTS
        for (int i = 0; as.by_sum && i < ec_min_i(4, out_c - c); i++)
            sums[i] += as.by_sum[c + i] * sum;
#endif
        ec_int8_real_finish(epilogue, as, sums, c, ec_min_i(4, out_c - c), at + c);
    }
}

/* `rows` of in_c numbers to as many of out_c. */
EC_INLINE void ec_int8_real_dense(const ec_epilogue epilogue, const ec_int8_reals as, const int8_t *in, int in_c,
                                  const int8_t *filters, int out_c, int rows, int sixteens)
{
    for (int row = 0; row < rows; row++)
        ec_int8_real_pixel(epilogue, as, in + row * in_c, in_c, filters, out_c, (ptrdiff_t)row * out_c, sixteens);
}

#ifdef EC_INT8_1X4_H
/* Rows [row0, row1) of the output, pixel by pixel, filters in sixteens.  workspace: a window, unless the kernel is 1 x 1
   and nothing padded. */
EC_INLINE void ec_int8_real_convolve_1x4(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                         const int8_t *in, const int8_t *filters, void *workspace, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int copied = ec_int8_is_copied_1x4(w);
    for (int y = row0; y < row1; y++) {
        const int8_t *from = in + ec_ring(y * w->stride_h, w->in_ring) * spec->in_row;
        ptrdiff_t at = as.at + ec_ring(y, w->out_ring) * spec->out_row;
        for (int x = 0; x < w->out_w; x++, from += w->stride_w * spec->in_pixel, at += spec->out_pixel) {
            if (copied)
                ec_int8_copy_window(spec, in, as.padding, workspace, y, x);
            ec_int8_real_pixel(epilogue, as, copied ? (const int8_t *)workspace : from,
                               w->kernel_h * w->kernel_w * spec->in_c, filters, spec->out_c, at, 1);
        }
    }
}
#endif

/* n <= 4 output channels from number c on of output pixel (y, x), `each` of which have one of the input.
   Filters: of every kernel position those of the channels side by side, then, `side` numbers on, the next. */
EC_INLINE void ec_int8_real_window(const ec_int8_conv *spec, const int8_t *in, int padding, const int8_t *filters, int side,
                                   int y, int x, int c, int n, int each, int32_t *sums)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w;
    const int bottom = in_y + (w->kernel_h - 1) * w->dilation_h, right = in_x + (w->kernel_w - 1) * w->dilation_w;
    const ptrdiff_t apart = w->dilation_w * spec->in_pixel;
    for (int i = 0; i < n; i++)
        sums[i] = 0;
    if (in_y >= 0 && in_x >= 0 && bottom < w->in_h && right < w->in_w && !w->in_ring) {
        const int8_t *row = in + in_y * spec->in_row + in_x * spec->in_pixel + c / each;
        for (int ky = 0; ky < w->kernel_h; ky++, row += w->dilation_h * spec->in_row) {
            const int8_t *from = row;
            for (int kx = 0; kx < w->kernel_w; kx++, from += apart, filters += side)
                ec_int8_add_tap(sums, from, filters, n);
        }
        return;
    }
    const int8_t outside[4] = {(int8_t)padding, (int8_t)padding, (int8_t)padding,
                               (int8_t)padding};
    for (int ky = 0; ky < w->kernel_h; ky++)
        for (int kx = 0; kx < w->kernel_w; kx++, filters += side) {
            const int at_y = in_y + ky * w->dilation_h, at_x = in_x + kx * w->dilation_w;
            const int inside = at_y >= 0 && at_y < w->in_h && at_x >= 0 && at_x < w->in_w;
            const ptrdiff_t from = ec_ring(at_y, w->in_ring) * spec->in_row + at_x * spec->in_pixel + c / each;
            ec_int8_add_tap(sums, inside ? in + from : outside, filters, n);
        }
}

/* The results of these channels, of which zeros follow the filters up to whole blocks of four. */
EC_INLINE void ec_int8_real_channels(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                     const int8_t *in, const int8_t *filters, int y, int x, int c, int n, int each)
{
    int32_t sums[4];
    ec_int8_real_window(spec, in, as.padding, filters + c, (spec->out_c + 3) / 4 * 4, y, x, c, n, each, sums);
#ifdef EC_ZERO_POINTS
    if (as.by_sum) {
        static const int8_t ones[4] = {1, 1, 1, 1};
        int32_t inputs[4];
        ec_int8_real_window(spec, in, as.padding, ones, 0, y, x, c, n, each, inputs);
        for (int i = 0; i < n; i++)
            sums[i] += as.by_sum[c + i] * inputs[i];
    }
#endif
    ec_int8_real_finish(epilogue, as, sums, c, n,
                        as.at + ec_ring(y, spec->window.out_ring) * spec->out_row + x * spec->out_pixel + c);
}

/* Rows [row0, row1) of a depthwise layer, one filter per channel or several. */
EC_INLINE void ec_int8_real_depthwise(const ec_int8_conv *spec, const ec_epilogue epilogue, const ec_int8_reals as,
                                      const int8_t *in, const int8_t *filters, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int each = spec->out_c / spec->in_c;
    for (int y = row0; y < row1; y++)
        for (int x = 0; x < w->out_w; x++) {
            int c = 0;
            for (; each == 1 && c + 4 <= spec->out_c; c += 4)
                ec_int8_real_channels(spec, epilogue, as, in, filters, y, x, c, 4, 1);
            for (; c < spec->out_c; c++)
                ec_int8_real_channels(spec, epilogue, as, in, filters, y, x, c, 1, each);
        }
}

#endif
