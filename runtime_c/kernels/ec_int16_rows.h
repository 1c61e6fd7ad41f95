/* Convolutions of int16 by int8 with vectors, channels last: tiles of pixels by vectors of filters, of the
   micro-kernel s16, for which filters are widened when they are packed.

   Filters: tile by tile, of EC_S16_VECTORS vectors but for the last, pair by pair of numbers.
   Needs ec_int16_window.h, ec_micro_kernel.h and ec_int16_<isa>.h. */
#ifdef EC_INT16_H
#ifndef EC_INT16_ROWS_H
#define EC_INT16_ROWS_H

/* pixels: rows of a tile, of which there may be fewer in the image, row_multiple if they lie packed, else 0; vectors:
   of its filters; last: of the last tile of filters, 0 where that is as the others. */
typedef struct ec_int16_tiles {
    int pixels, row_multiple, vectors, last;
} ec_int16_tiles;

/* Sums of a tile; those of more numbers than 32 bits hold are cut.  `row` bytes from a pixel to the next. */
EC_INLINE void ec_int16_tile_sums(const ec_int16_conv *spec, const ec_int16_tiles tiles, const char *pixels,
                                  ptrdiff_t row, const char *filters, int32_t *sums, int mr, int nv)
{
    const int pairs = spec->numbers / 2, chunk = spec->chunk ? spec->chunk / 2 : pairs;
    const ptrdiff_t next = tiles.row_multiple ? 4 * mr : 4;
    int64_t wide[EC_TILE_VECS * EC_VL];
    for (int k = 0; k < pairs; k += chunk) {
        ec_s16_sums tile;
        ec_s16_init(&tile, NULL, 0, mr, nv);
        ec_s16_mac(&tile, pixels + k * next, row, next, filters + (ptrdiff_t)k * nv * EC_VL * 4,
                   ec_min_i(chunk, pairs - k), mr, nv);
        ec_s16_save(&tile, sums, mr, nv);
        for (int i = 0; spec->chunk && i < mr * nv * EC_VL; i++)
            wide[i] = (k ? wide[i] : 0) + sums[i];
    }
    for (int i = 0; spec->chunk && i < mr * nv * EC_VL; i++)
        sums[i] = ec_int16_cut(wide[i]);
}

/* Pixels [first, first + count) of a tile, of which those before `from` are there already, by `filters` filters. */
EC_INLINE void ec_int16_tile(const ec_int16_conv *spec, const ec_int16_residual *add, const ec_int16_tiles tiles,
                             const char *pixels, ptrdiff_t row, const char *packed, const int32_t *words,
                             const void *residual, void *out, int channel, int filters, int first, int from, int count,
                             int mr, int nv)
{
    int32_t sums[EC_TILE_VECS * EC_VL];
    ec_int16_tile_sums(spec, tiles, pixels, row, packed, sums, mr, nv);
    for (int p = from - first; p < count; p++) {
        const ptrdiff_t at = ec_int16_out(spec, first + p) + channel;
        for (int i = 0; i < filters; i++)
            ec_int16_finish(spec->result, add, sums[p * nv * EC_VL + i], words + channel + i, spec->apart, residual,
                            out, at + i);
    }
}

/* All pixels of an image by the filters of a group.  panel: windows of a tile's pixels. */
EC_INLINE void ec_int16_convolve_rows(const ec_int16_conv *spec, const ec_int16_residual *add,
                                      const ec_int16_tiles tiles, const void *in, const void *filters,
                                      const int32_t *words, const void *residual, void *out, int16_t *panel)
{
    const ec_window *w = &spec->window;
    const int total = ec_int16_pixels(spec), mr = tiles.pixels, count = ec_min_i(mr, total);
    const int lanes = tiles.vectors * EC_VL, whole = tiles.last ? (spec->out_c - 1) / lanes : ec_ceil_div(spec->out_c, lanes);
    const int plain = !tiles.row_multiple && ec_int16_is_pointwise(spec) && w->stride_h == 1 && w->stride_w == 1 &&
                      spec->in_bytes == 2 && spec->numbers == spec->in_c && !w->in_ring && mr <= total;
    const ptrdiff_t tile = (ptrdiff_t)spec->numbers * lanes * 2; /* bytes */
    for (int from = 0; from < total; from += count) {
        const int first = ec_min_i(from, total - count); /* of the last pixels some come twice */
        const char *pixels = (const char *)panel;
        ptrdiff_t row = tiles.row_multiple ? 4 : 2 * (ptrdiff_t)spec->numbers;
        if (plain) {
            pixels = (const char *)in + 2 * first * spec->in_pixel, row = 2 * spec->in_pixel;
        } else {
            for (int p = 0; p < count; p++) {
                int16_t *const own = panel + (ptrdiff_t)p * spec->numbers;
                ec_int16_pack(spec, in, tiles.row_multiple ? panel + (ptrdiff_t)mr * spec->numbers : own, 4, first + p);
                for (int k = 0; tiles.row_multiple && k < spec->numbers; k += 2)
                    memcpy(panel + (k / 2 * mr + p) * 2, panel + (ptrdiff_t)mr * spec->numbers + k, 4);
            }
        }
        for (int j = 0; j < whole; j++)
            ec_int16_tile(spec, add, tiles, pixels, row, (const char *)filters + j * tile, words, residual, out, j * lanes,
                          ec_min_i(lanes, spec->out_c - j * lanes), first, from, count, mr, tiles.vectors);
        if (tiles.last)
            ec_int16_tile(spec, add, tiles, pixels, row, (const char *)filters + whole * tile, words, residual, out,
                          whole * lanes, spec->out_c - whole * lanes, first, from, count, mr, tiles.last);
    }
}

#endif
#endif
