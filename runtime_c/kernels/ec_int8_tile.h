/* Convolutions of int8, channels last: tiles of three pixels by two filters.

   Windows of three neighbouring pixels are widened to a panel (ec_int8_panel.h) once for all filters.
   Filters lie in pairs, k-block by k-block: four numbers of the first, four of the second.  channels: of each pair
   the starts of both, then both scalings (ec_int8_scaling.h).  What is
   beyond the last channel is zeros.  Needs ec_int8_panel.h. */
#ifndef EC_INT8_TILE_H
#define EC_INT8_TILE_H

/* One panel under `pairs` of filters: out[p * out_pixel + filter]. */
EC_INLINE void ec_int8_tile_c(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                              const int32_t *channels, int k_blocks, int pairs, int8_t *out, ptrdiff_t out_pixel)
{
    for (int j = 0; j < pairs; j++, filters += 8 * k_blocks, channels += 2 * EC_INT8_WORDS) {
        int32_t sums[EC_INT8_PIXELS][2];
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            sums[p][0] = channels[0], sums[p][1] = channels[1];
        const int8_t *f = filters;
        for (const int16_t *x = panel; f != filters + 8 * k_blocks; f += 8, x += EC_INT8_K_BLOCK_NUMBERS)
            EC_UNROLL
            for (int k = 0; k < 4; k++)
                for (int p = 0; p < EC_INT8_PIXELS; p++) {
                    const int number = x[4 * p + ec_int8_place(k)];
                    sums[p][0] += number * f[k];
                    sums[p][1] += number * f[4 + k];
                }
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            for (int i = 0; i < 2; i++)
                out[p * out_pixel + 2 * j + i] = ec_int8_of_sum(result, sums[p][i], channels + 2 + i, 2);
    }
}

/* One panel under `pairs` of filters. */
typedef void ec_int8_tiles(ec_int8_result result, const int16_t *panel, const int8_t *filters, const int32_t *channels,
                           int k_blocks, int pairs, int8_t *out, ptrdiff_t out_pixel);

EC_INLINE void ec_int8_tile(ec_int8_result result, const int16_t *panel, const int8_t *filters,
                            const int32_t *channels, int k_blocks, int pairs, int8_t *out, ptrdiff_t out_pixel)
{
#ifdef EC_INT8_DSP
    if (EC_INT8_IN_ASSEMBLY(result)) {
        const int left_out = (EC_INT8_K_BLOCKS - k_blocks % EC_INT8_K_BLOCKS) % EC_INT8_K_BLOCKS;
        const ec_int8_tile_job job = {
            .panel = panel, .panel_end = panel + k_blocks * EC_INT8_K_BLOCK_NUMBERS, .channels = channels,
            .channels_end = channels + 2 * EC_INT8_WORDS * pairs, .out = out, .out_pixel = out_pixel,
            .offset = EC_INT8_OFFSET(result), .right = result.right, .skip = left_out * EC_INT8_K_BLOCK_BYTES,
            .filters = filters};
        ec_int8_tile_dsp(&job);
        if (result.low != INT8_MIN || result.high != INT8_MAX)
            for (int p = 0; p < EC_INT8_PIXELS; p++)
                ec_int8_bound(result, out + p * out_pixel, 2 * pairs);
        return;
    }
#endif
    ec_int8_tile_c(result, panel, filters, channels, k_blocks, pairs, out, out_pixel);
}

enum { EC_INT8_TILE_RESULTS = 8 }; /* at most, of a tile */

/* Panels of a row one behind the other: of the input's pixels from `row` on, or where that is NULL of windows the first of
   which is at `windows`, with rows `below` bytes apart. */
typedef struct ec_int8_run {
    const int8_t *row, *windows;
    ptrdiff_t below;
    int panels;
} ec_int8_run;

#ifdef EC_INT8_DSP
/* The windows of a run of panels of two or three pixels. */
EC_INLINE void ec_int8_windows_of_run(ec_int8_windows_job *job, const ec_int8_conv *spec, ec_int8_run run, int16_t *panel)
{
    const ec_window *w = &spec->window;
    ec_int8_windows_of(job, spec, run.row ? run.row : run.windows, run.below, panel, 0, w->kernel_h);
    if (run.row)
        job->apart = spec->in_pixel;
}
#endif

/* How a kernel takes an output apart: a function for one panel of so many pixels under so many filters at a time; if it has
   them, others for a run of panels under all filters, which says whether it has computed them, and for one pixel that is left
   over, where filters are whole tiles. */
typedef int ec_int8_runs(const ec_int8_conv *spec, ec_int8_run run, const int8_t *filters, const int32_t *channels,
                         int8_t *out, int16_t *panel);
typedef void ec_int8_alone(const ec_int8_conv *spec, const int16_t *panel, const int8_t *filters, const int32_t *channels,
                           int8_t *out);
typedef struct ec_int8_tiling {
    ec_int8_tiles *tile;
    int pixels, filters;
    ec_int8_runs *run;
    ec_int8_alone *alone;
} ec_int8_tiling;

/* A panel under all filters: the last few alone where their number is no multiple of those at a time. */
EC_INLINE void ec_int8_filters(ec_int8_tiling by, const ec_int8_conv *spec, const int16_t *panel,
                               const int8_t *filters, const int32_t *channels, int8_t *out, ptrdiff_t out_pixel)
{
    const int k_blocks = ec_int8_k_blocks(spec), whole = spec->out_c / by.filters, rest = spec->out_c % by.filters;
    if (whole)
        by.tile(spec->result, panel, filters, channels, k_blocks, whole, out, out_pixel);
    if (rest) {
        int8_t last[EC_INT8_TILE_RESULTS];
        by.tile(spec->result, panel, filters + whole * k_blocks * 4 * by.filters,
                channels + by.filters * EC_INT8_WORDS * whole, k_blocks, 1, last, by.filters);
        for (int p = 0; p < by.pixels; p++)
            for (int i = 0; i < rest; i++)
                out[p * out_pixel + by.filters * whole + i] = last[by.filters * p + i];
    }
}

/* How many of `left` pixels from x on have windows that lie in the input, side by side: in rows that do. */
EC_INLINE int ec_int8_pixels_inside(const ec_int8_conv *spec, int in_y, int in_x, int left)
{
    const ec_window *w = &spec->window;
    const int reach = (w->kernel_h - 1) * w->dilation_h, beyond = w->in_w - w->kernel_w - in_x;
    if (w->dilation_w > 1 || spec->in_pixel != spec->in_c || in_y < 0 || in_y + reach >= w->in_h || in_x < 0 || beyond < 0)
        return 0;
    if (w->in_ring && ec_ring(in_y, w->in_ring) + reach >= w->in_ring)
        return 0;
    return ec_min_i(beyond / w->stride_w + 1, left);
}

/* How many of `left` pixels are taken to a copy, which has so many bytes: where they fit, as many as are left of rows outside of
   the input, or of the row, else one panel. */
EC_INLINE int ec_int8_pixels_copied(const ec_int8_conv *spec, int in_y, int left, int pixels)
{
    const ec_window *w = &spec->window;
    const int columns = EC_INT8_COPIED / (w->kernel_h * spec->in_c) - w->kernel_w;
    const int fit = columns < 0 ? 0 : columns / w->stride_w + 1;
    const int is_above = in_y < 0 || in_y + (w->kernel_h - 1) * w->dilation_h >= w->in_h;
    return ec_min_i(left, is_above || fit >= left ? fit : ec_min_i(fit, pixels));
}

/* The run of panels of so many `pixels` that begins with pixel `first` of row y, of `left` pixels: none where windows do
   not lie side by side.  copy: of EC_INT8_COPIED bytes, which those may be taken to. */
EC_INLINE ec_int8_run ec_int8_run_from(const ec_int8_conv *spec, const int8_t *in, const int8_t *row, int8_t *copy, int y,
                                       int first, int left, int pixels)
{
    const ec_window *w = &spec->window;
    ec_int8_run run = {.row = row, .below = w->dilation_h * spec->in_row, .panels = left / pixels};
    if (row) {
        run.row += first * spec->in_pixel;
        return run;
    }
    const int down = first / w->out_w, x = first - down * w->out_w, in_x = x * w->stride_w - w->pad_w;
    const int in_y = (y + down) * w->stride_h - w->pad_h, of_row = ec_min_i(w->out_w - x, left);
    run.panels = ec_int8_pixels_inside(spec, in_y, in_x, of_row) / pixels;
    if (run.panels) {
        run.windows = in + ec_ring(in_y, w->in_ring) * spec->in_row + in_x * spec->in_c;
    } else if (ec_int8_is_copied(spec, w->kernel_w)) {
        run.panels = ec_int8_pixels_copied(spec, in_y, of_row, pixels) / pixels;
        const int columns = (run.panels * pixels - 1) * w->stride_w + w->kernel_w;
        if (run.panels)
            ec_int8_copy_rows(spec, in, spec->padding, copy, in_y, in_x, columns);
        run.windows = copy, run.below = columns * spec->in_c;
    }
    return run;
}

/* `count` pixels of the output from pixel `first` of row y on, which lie one behind the other.  Those of the last
   panel overlap those before, whose windows are kept: the output may lie over them by now.  Fewer than a panel has
   are computed one by one, as all of its pixels. */
EC_INLINE void ec_int8_pixels(ec_int8_tiling by, const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                              const int32_t *channels, int8_t *out, int16_t *panel, int y, int count)
{
    const int few = count < by.pixels, wide = few ? 1 : by.pixels;
    const int8_t *const row = ec_int8_is_pointwise(spec, count)
                                  ? in + ec_ring(y, spec->window.in_ring) * spec->in_row : NULL;
    for (int i = 0; i < count; i += wide) {
        const int alone = by.alone && spec->out_c % by.filters == 0 && i + 1 == count;
        const int first = few || alone ? i : ec_min_i(i, count - by.pixels);
        if (by.run && !few && !alone && first == i) {
            int8_t copy[EC_INT8_COPIED];
            const ec_int8_run run = ec_int8_run_from(spec, in, row, copy, y, i, count - i, by.pixels);
            if (run.panels && by.run(spec, run, filters, channels, out + i * spec->out_pixel, panel)) {
                i += (run.panels - 1) * by.pixels;
                continue;
            }
        }
        if (first < i)
            ec_int8_keep_pixels(panel, ec_int8_k_blocks(spec), by.pixels, i - first);
        ec_int8_pack_panel(spec, in, row, spec->padding, panel, y, first, !few && !alone, i - first, alone ? 1 : by.pixels);
        if (alone)
            by.alone(spec, panel, filters, channels, out + i * spec->out_pixel);
        else
            ec_int8_filters(by, spec, panel, filters, channels, out + first * spec->out_pixel, few ? 0 : spec->out_pixel);
    }
}

/* Rows [row0, row1) of the output.  workspace: a panel. */
EC_INLINE void ec_int8_convolve_by(ec_int8_tiling by, const ec_int8_conv *spec, const int8_t *in,
                                   const int8_t *filters, const int32_t *channels, int8_t *out, int16_t *workspace,
                                   int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int together = spec->out_row == w->out_w * spec->out_pixel && !w->out_ring ? row1 - row0 : 1;
    for (int y = row0; y < row1; y += together)
        ec_int8_pixels(by, spec, in, filters, channels, out + ec_ring(y, w->out_ring) * spec->out_row, workspace, y,
                       together * w->out_w);
}
EC_INLINE ec_int8_tiling ec_int8_tiling_3x2(void)
{
    const ec_int8_tiling by = {.tile = ec_int8_tile, .pixels = EC_INT8_PIXELS, .filters = 2};
    return by;
}
EC_SHARED void ec_int8_convolve(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                const int32_t *channels, int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_by(ec_int8_tiling_3x2(), spec, in, filters, channels, out, workspace, row0, row1);
}

#endif
