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

/* A panel under all filters: the last one alone where their number is odd. */
EC_INLINE void ec_int8_filters(ec_int8_tiles *tile, const ec_int8_conv *spec, const int16_t *panel,
                               const int8_t *filters, const int32_t *channels, int8_t *out, ptrdiff_t out_pixel)
{
    const int k_blocks = ec_int8_k_blocks(spec), pairs = spec->out_c / 2;
    if (pairs)
        tile(spec->result, panel, filters, channels, k_blocks, pairs, out, out_pixel);
    if (spec->out_c % 2) {
        int8_t last[2 * EC_INT8_PIXELS];
        tile(spec->result, panel, filters + pairs * k_blocks * 8, channels + 2 * EC_INT8_WORDS * pairs, k_blocks, 1, last,
             2);
        for (int p = 0; p < EC_INT8_PIXELS; p++)
            out[p * out_pixel + 2 * pairs] = last[2 * p];
    }
}

/* `count` pixels of the output from pixel `first` of row y on, which lie one behind the other.  The last
   three overlap those before, whose windows are kept: the output may lie over them by now.  Fewer than three
   are computed one by one, three times each. */
EC_INLINE void ec_int8_pixels(ec_int8_tiles *tile, const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                              const int32_t *channels, int8_t *out, int16_t *panel, int y, int count)
{
    const int few = count < EC_INT8_PIXELS, wide = few ? 1 : EC_INT8_PIXELS;
    const int8_t *const row = ec_int8_is_pointwise(spec, count)
                                  ? in + ec_ring(y, spec->window.in_ring) * spec->in_row : NULL;
    for (int i = 0; i < count; i += wide) {
        const int first = few ? i : ec_min_i(i, count - EC_INT8_PIXELS);
        if (first < i)
            ec_int8_keep_pixels(panel, ec_int8_k_blocks(spec), i - first);
        ec_int8_pack_panel(spec, in, row, spec->padding, panel, y, first, !few, i - first);
        ec_int8_filters(tile, spec, panel, filters, channels, out + first * spec->out_pixel, few ? 0 : spec->out_pixel);
    }
}

/* Rows [row0, row1) of the output.  workspace: a panel. */
EC_INLINE void ec_int8_convolve_by(ec_int8_tiles *tile, const ec_int8_conv *spec, const int8_t *in,
                                   const int8_t *filters, const int32_t *channels, int8_t *out, int16_t *workspace,
                                   int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int together = spec->out_row == w->out_w * spec->out_pixel && !w->out_ring ? row1 - row0 : 1;
    for (int y = row0; y < row1; y += together)
        ec_int8_pixels(tile, spec, in, filters, channels, out + ec_ring(y, w->out_ring) * spec->out_row, workspace, y,
                       together * w->out_w);
}
EC_SHARED void ec_int8_convolve(const ec_int8_conv *spec, const int8_t *in, const int8_t *filters,
                                const int32_t *channels, int8_t *out, int16_t *workspace, int row0, int row1)
{
    ec_int8_convolve_by(ec_int8_tile, spec, in, filters, channels, out, workspace, row0, row1);
}

#endif
