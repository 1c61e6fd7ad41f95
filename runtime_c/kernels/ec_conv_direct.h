/* Direct convolution over blocked layouts: Algorithm 1 of NeoCPU (Liu et al., USENIX ATC 2019).

   One strip is mr neighbouring output pixels of one row by nv vectors of filters, kept in a
   register tile while input channels and kernel positions go by.  Nothing is padded or copied:
   kernel rows outside the input are left out, and at the left and right border the tile rows whose
   pixel would lie outside are left out, kernel column by kernel column.

   Input: NCHW[x]c, NCHW (x = 1) or NHWC (x = in_c; EC_VL where filters are fetched meanwhile), as the
   strides say.  Output: vectors of EC_VL
   neighbouring channels, so NCHW[EC_VL]c or NHWC.  Weights: per tile of nv vectors of filters, for
   each input channel block, kernel position and channel of the block, nv * EC_VL filters.  Grouped
   convolutions go through the same loops: a tile reads the channels of the groups that its
   filters belong to, with zero weights between them.

   Filters may be stored in any format of ec_stored.h, and in units of a scale per channel.  So may
   input, output and residual in those that can be written.  What is stored is decoded in registers where
   it is read, or to the workspace before, and encoded before it is written.

   Needs ec_epilogue.h, ec_decode.h, ec_strips.h, ec_window.h and ec_conv_sums.h. */
#ifndef EC_CONV_DIRECT_H
#define EC_CONV_DIRECT_H

/* Filters ahead of use, a few lines per multiplication so that they do not queue. */
EC_INLINE const char *ec_conv_fetch(const char *next, const char *end, int lines)
{
    for (int i = 0; i < lines && next < end; i++, next += EC_LINE_BYTES)
        EC_PREFETCH(next);
    return next;
}

#ifdef EC_TILE_RUNS
/* From one vector of a pixel's channels to the next, where all channels that strips read come in such vectors; else 0. */
EC_INLINE ptrdiff_t ec_conv_next_vector(const ec_conv spec)
{
    if (spec.in_block == EC_VL)
        return spec.in_c % EC_VL ? 0 : ec_conv_in_block_stride(spec);
    return spec.in_block == spec.in_c && spec.in_c % EC_VL == 0 && !spec.channels_per_chunk ? EC_VL : 0;
}

/* Whether all filters of a strip follow each other, and meet vectors of channels. */
EC_INLINE int ec_conv_is_run(const ec_conv spec)
{
    const ec_window w = spec.window;
    const int inside = !w.pad_d && !w.pad_h && (w.out_d - 1) * w.stride_d < w.in_d && (w.out_h - 1) * w.stride_h < w.in_h;
    return ec_conv_taps(spec) == 1 && inside && ec_conv_next_vector(spec) && !spec.group_out_c &&
           ec_conv_in_as(spec) == EC_F32 && ec_conv_filters_as(spec) == EC_F32;
}

/* Whether strips read columns of a channel that lie side by side, of a first layer for the most part. */
EC_INLINE int ec_conv_is_by_columns(const ec_conv spec, int mr, int nv)
{
    const ec_window w = spec.window;
    return spec.in_block == 1 && spec.in_pixel == 1 && w.kernel_d == 1 && !w.in_ring && !spec.channels_per_chunk &&
           ec_conv_in_as(spec) == EC_F32 && ec_conv_filters_as(spec) == EC_F32 &&
           ec_tile_holds_columns(ec_tile_reach(w.kernel_w, w.stride_w, w.dilation_w, mr), mr, nv);
}

/* The multiply-adds of such a strip, no column of which lies outside: channel by channel, row by row of the kernel. */
EC_INLINE void ec_conv_by_columns(const ec_conv spec, const ec_conv_chunk *chunk, ec_tile *tile, const ec_rows met, int ix,
                                  int mr, int nv)
{
    const ec_window w = spec.window;
    const ptrdiff_t of_row = EC_STORED_SPAN(EC_F32, w.kernel_w * nv * EC_VL); /* bytes of its filters */
    const ptrdiff_t down = w.dilation_h * spec.in_row, at = met.z * ec_conv_in_plane(spec) + ix;
    const void *channel = ec_at(chunk->in, at + (met.y - chunk->in_row0 + met.ky.from * w.dilation_h) * spec.in_row, EC_F32);
    const char *filters = (const char *)chunk->filters + met.ky.from * of_row;
    channel = ec_at(channel, chunk->c0 * ec_conv_in_block_stride(spec), EC_F32);
    if (met.kz.from >= met.kz.to) /* its plane lies outside */
        return;
    EC_NO_UNROLL
    for (int c = chunk->c0; c < chunk->c1; c++) {
        const char *next = filters + (c - chunk->c0) * w.kernel_h * of_row;
        EC_NO_UNROLL
        for (int ky = met.ky.from; ky < met.ky.to; ky++)
            ec_tile_columns(tile, ec_at(channel, (ky - met.ky.from) * down, EC_F32), &next, w.kernel_w, w.stride_w,
                            w.dilation_w, mr, nv);
        channel = ec_at(channel, ec_conv_in_block_stride(spec), EC_F32);
    }
}
#endif

#ifdef EC_JOINED_COLUMNS
/* Whether what a row of the kernel meets of a pixel's channels lies in one piece, with fewer channels than a vector has
   or some left over: of a first layer with channels last, for the most part. */
EC_INLINE int ec_conv_is_joined(const ec_conv spec)
{
    return spec.window.kernel_w > 1 && spec.window.dilation_w == 1 && spec.in_block == spec.in_c &&
           spec.in_pixel == spec.in_c && spec.in_c % EC_VL && !spec.channels_per_chunk && !spec.group_out_c;
}
#endif

/* The multiply-adds of a strip: output columns [column, column + mr) of a row that reads `met`. */
EC_INLINE void ec_conv_multiply(const ec_conv spec, const ec_conv_chunk *chunk, ec_tile *tile,
                                const ec_rows met, int column, int mr, int nv, int lanes, int edge, int lines)
{
    const ec_window window = spec.window;
    const int in_as = ec_conv_in_as(spec), filters_as = ec_conv_filters_as(spec);
    const int ix = column * window.stride_w - window.pad_w;
    const ptrdiff_t nr = EC_STORED_SPAN(filters_as, nv * EC_VL); /* bytes */
    const ptrdiff_t tile_row = window.stride_w * spec.in_pixel, in_plane = ec_conv_in_plane(spec);
    const ptrdiff_t block_stride = ec_conv_in_block_stride(spec);
    (void)lanes; /* which some ISAs make use of */
    const int together = edge ? window.kernel_w : 1; /* columns that are unrolled, each with its own rows */
    ptrdiff_t block = chunk->c0 / spec.in_block * block_stride;
    const char *block_filters = chunk->filters, *next = chunk->next;
    const char *const next_end = next + (ptrdiff_t)lines * EC_LINE_BYTES;
    int few = 0; /* lines per multiplication */
#ifdef EC_PREFETCH_DISTANCES
    const int span = (mr - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
    const int last = chunk->c1 - spec.prefetch_input * spec.in_block; /* behind it the next strip is wanted */
    const ptrdiff_t of_next = (spec.prefetch_input - ec_ceil_div(chunk->c1 - chunk->c0, spec.in_block)) * block_stride +
                              mr * tile_row;
#endif
#ifdef EC_TILE_RUNS
    if (ec_conv_is_run(spec) && !edge) {
        const int blocks = (chunk->c1 - chunk->c0) / EC_VL;
        const int most = (spec.channels_per_chunk ? ec_min_i(spec.channels_per_chunk, spec.in_c) : spec.in_c) / EC_VL;
        const int row = ec_ring(met.y - chunk->in_row0, window.in_ring);
        const ptrdiff_t at = block + met.z * in_plane + row * spec.in_row + ix * spec.in_pixel;
        ec_tile_blocks(tile, ec_at(chunk->in, at, EC_F32), tile_row * EC_STORED_BYTES(EC_F32),
                       ec_conv_next_vector(spec) * EC_STORED_BYTES(EC_F32), block_filters, blocks, next,
                       ec_ceil_div(lines * EC_LINE_BYTES, most), mr, nv);
        return;
    }
    if (ec_conv_is_by_columns(spec, mr, nv) && !edge) {
        ec_conv_by_columns(spec, chunk, tile, met, ix, mr, nv);
        return;
    }
#endif
    if (lines) {
        const int macs = (met.kz.to - met.kz.from) * (met.ky.to - met.ky.from) * window.kernel_w *
                         (chunk->c1 - chunk->c0);
        few = ec_ceil_div(lines * spec.in_block, ec_max_i(macs, 1));
    }
    for (int c = chunk->c0; c < chunk->c1; block += block_stride) {
#ifdef EC_CONSTANT_OFFSETS
        /* Blocks that are met as a whole take the same steps. */
        const int whole = !spec.channels_per_chunk && !spec.group_out_c && spec.in_c % spec.in_block == 0;
        const int first = whole ? 0 : c % spec.in_block;
        const int kc = whole ? spec.in_block : ec_min_i(spec.in_block - first, chunk->c1 - c);
#else
        const int first = c % spec.in_block;
        const int kc = spec.in_block == 1 ? 1 : ec_min_i(spec.in_block - first, chunk->c1 - c);
#endif
#ifdef EC_PREFETCH_DISTANCES
        const ptrdiff_t wanted = c < last ? spec.prefetch_input * block_stride : of_next;
#endif
        for (int kz = met.kz.from; kz < met.kz.to; kz++) {
            for (int ky = met.ky.from; ky < met.ky.to; ky++) {
                const int row = ec_ring(met.y - chunk->in_row0 + ky * window.dilation_h, window.in_ring);
                const ptrdiff_t of_row = block + first + (met.z + kz * window.dilation_d) * in_plane +
                                         row * spec.in_row + ix * spec.in_pixel;
                const char *const row_filters =
                    block_filters + (kz * window.kernel_h + ky) * window.kernel_w * (kc * nr);
#ifdef EC_PREFETCH_DISTANCES
                if (spec.prefetch_input) /* of its columns those that the strip before it has not read */
                    ec_fetch_run(ec_at(chunk->in, of_row + wanted + span * spec.in_pixel, in_as),
                                 ec_min_i(span, mr * window.stride_w) * spec.in_block * EC_STORED_BYTES(in_as));
#endif
#ifdef EC_JOINED_COLUMNS
                if (ec_conv_is_joined(spec) && !edge) {
                    ec_tile_mac(tile, ec_at(chunk->in, of_row, in_as), in_as, tile_row, 1, row_filters, filters_as,
                                window.kernel_w * spec.in_c, mr, nv, 0, mr);
                    continue;
                }
#endif
                for (int k0 = 0; k0 < window.kernel_w; k0 += together) {
                    EC_UNROLL
                    for (int kx = k0; kx < k0 + together; kx++) {
                        const int in_x = ix + kx * window.dilation_w; /* input column of tile row 0 */
                        const int beyond = window.in_w - in_x;
                        const int lo = edge ? ec_max_i(ec_ceil_div(-in_x, window.stride_w), 0) : 0;
                        const int hi = edge ? ec_min_i(ec_ceil_div(beyond, window.stride_w), mr) : mr;
                        EC_IN_ORDER();
                        next = ec_conv_fetch(next, next_end, few);
#ifdef EC_PREFETCH_DISTANCES
                        if (lo < hi && spec.prefetch_filters) {
                            ec_tile_mac_prefetch(
                                tile, ec_at(chunk->in, of_row + kx * window.dilation_w * spec.in_pixel, in_as),
                                in_as, tile_row, row_filters + kx * (kc * nr), filters_as, kc, mr, nv, lo, hi,
                                spec.prefetch_filters);
                            continue;
                        }
#endif
#ifdef EC_HALF_VECTORS
                        if (lo < hi && in_as == EC_F32 && 2 * lanes <= EC_VL) {
                            ec_tile_mac_half(
                                tile, ec_at(chunk->in, of_row + kx * window.dilation_w * spec.in_pixel, in_as),
                                tile_row, row_filters + kx * (kc * nr), filters_as, kc, mr, nv, lo, hi);
                            continue;
                        }
#endif
                        if (lo < hi)
                            ec_tile_mac(tile,
                                        ec_at(chunk->in, of_row + kx * window.dilation_w * spec.in_pixel, in_as),
                                        in_as, tile_row, 1, row_filters + kx * (kc * nr), filters_as, kc, mr,
                                        nv, lo, hi);
                    }
                }
            }
        }
        block_filters += ec_conv_taps(spec) * (kc * nr);
        c += kc;
    }
}

/* The output columns [column, column + mr) of row (z, y), nv vectors of filters of which the last
   keeps `lanes`.  edge: some kernel column may fall outside the input. */
EC_NEST void ec_conv_strip(const ec_conv spec, const ec_epilogue epilogue, ec_conv_chunk *chunk, int z, int y,
                             int column, int mr, int nv, int lanes, int edge, int lines)
{
    const ec_tile_place place = {
        .at = z * spec.out_plane + ec_ring(y, spec.window.out_ring) * spec.out_row + column * spec.out_pixel,
        .row = spec.out_pixel, .vec = spec.out_vec, .rows = mr, .tail = lanes};
    const int split = !(chunk->first && chunk->last);
    const int early = split && !spec.sums_apart; /* the residual */
    const void *const added = early && epilogue.has_residual ? chunk->residual : NULL;
    ec_tile tile;
    ec_vec rows[EC_TILE_VECS];
    ec_epilogue finish = epilogue;
    if (early)
        finish.has_residual = 0;

    if (spec.units_at)
        ec_tile_init(&tile, NULL, mr, nv);
    else if (split)
        ec_conv_begin(spec, epilogue, chunk, &tile, chunk->bias, added, place, mr, nv);
    else
        ec_tile_init(&tile, chunk->bias, mr, nv);
    ec_conv_multiply(spec, chunk, &tile, ec_rows_read(spec.window, z, y), column, mr, nv, lanes, edge,
                     lines);
    chunk->next += (ptrdiff_t)lines * EC_LINE_BYTES;
    ec_tile_read(&tile, rows, mr, nv);
    if (spec.units_at)
        ec_conv_scale(spec, epilogue, chunk, rows, chunk->bias, added, place, mr, nv);
    if (chunk->last)
        ec_tile_finish(finish, place, rows, chunk->residual, chunk->out, nv);
    else if (!spec.sums_apart)
        ec_tile_keep(place, rows, chunk->out, nv);
    else
        ec_tile_save(rows, chunk->sums, mr, nv);
    if (spec.sums_apart)
        chunk->sums += mr * nv * EC_VL;
}

/* The strips of one kind of row (z, y). */
EC_INLINE void ec_conv_strips(const ec_conv spec, const ec_epilogue epilogue, ec_conv_chunk *chunk, int z, int y,
                              int tile, int kind)
{
    const int column = spec.tile[tile].strips[kind].column, width = spec.tile[tile].strips[kind].width;
    const int end = column + spec.tile[tile].strips[kind].count * width;
    for (int x = column; x < end; x += width)
        ec_conv_strip(spec, epilogue, chunk, z, y, x, width, spec.tile[tile].vectors, spec.tile[tile].lanes,
                      spec.tile[tile].strips[kind].edge, spec.tile[tile].lines);
}

/* A tile of filters of one of the two kinds over the output rows [y0, y1) and the input channels
   [c0, c1), all at once or some at a time.  `of` has the tile's pointers. */
EC_NEST void ec_conv_filters(const ec_conv spec, const ec_epilogue epilogue, const ec_conv_operands operands,
                               const ec_conv_chunk of, int tile, int kinds, int y0, int y1, int c0, int c1)
{
    const int channel = ec_conv_taps(spec) * spec.tile[tile].vectors * EC_VL; /* filters */
    int c = c0;
    do {
        const int end = spec.channels_per_chunk ? ec_min_i(c + spec.channels_per_chunk, c1) : c1;
        const char *const filters =
            (const char *)of.filters + (ptrdiff_t)(c - c0) * EC_STORED_SPAN(spec.filters_as, channel);
        ec_conv_chunk chunk = of;
        chunk.c0 = c;
        chunk.c1 = end;
        chunk.first = !spec.channels_per_chunk || c == 0;
        chunk.last = !spec.channels_per_chunk || end == spec.in_c;
        chunk.filters = filters;
        chunk.next = filters + (ptrdiff_t)(end - c) * EC_STORED_SPAN(spec.filters_as, channel);
        if (spec.decode_filters) {
            ec_decode(operands.workspace, filters, (end - c) * channel, spec.filters_as);
            chunk.filters = operands.workspace;
        }
        for (int z = 0; z < spec.window.out_d; z++)
            for (int y = y0; y < y1; y++) {
                ec_conv_strips(spec, epilogue, &chunk, z, y, tile, 0);
                if (kinds > 1)
                    ec_conv_strips(spec, epilogue, &chunk, z, y, tile, 1);
                if (kinds > 2)
                    ec_conv_strips(spec, epilogue, &chunk, z, y, tile, 2);
                if (kinds > 3)
                    ec_conv_strips(spec, epilogue, &chunk, z, y, tile, 3);
            }
        c = end;
    } while (spec.channels_per_chunk && c < c1);
}

/* The rows of the input that the output rows [y0, y1) read, in float32; which is the first. */
EC_INLINE int ec_conv_decode_rows(const ec_conv spec, const void *in, float *decoded, int y0, int y1)
{
    const ec_window window = spec.window;
    const int reach = (window.kernel_h - 1) * window.dilation_h + 1;
    const int from = ec_max_i(y0 * window.stride_h - window.pad_h, 0);
    const int to = ec_min_i((y1 - 1) * window.stride_h - window.pad_h + reach, window.in_h);
    const int planes = (int)(spec.in_image / spec.in_plane); /* of all blocks of channels */
    for (int p = 0; p < planes && from < to; p++)
        ec_decode(decoded + p * ec_conv_in_plane(spec),
                  ec_at(in, p * spec.in_plane + from * spec.in_row, spec.in_as), (int)((to - from) * spec.in_row),
                  spec.in_as);
    return from;
}

/* The tile of number `number`: its input channels, those of the groups that its filters belong to. */
EC_INLINE ec_taps ec_conv_channels(const ec_conv spec, int number)
{
    const int filters = spec.tile[EC_CONV_TILE].vectors * EC_VL, first = number * filters;
    ec_taps channels = {0, spec.in_c};
    if (spec.group_out_c) {
        const int last = (first + filters - 1) / spec.group_out_c;
        channels.from = first / spec.group_out_c * spec.group_in_c;
        channels.to = ec_min_i((last + 1) * spec.group_in_c, spec.in_c);
    }
    return channels;
}

/* The output rows [row0, row1).  kinds: of strips in the rows of all tiles but the last, last_kinds: in
   those of the last one, 0 where it is like the others.  As literals, so that no compiler takes up what
   there is not. */
EC_NEST void ec_conv_direct(const ec_conv spec, const ec_epilogue epilogue, const ec_conv_operands operands,
                              int kinds, int last_kinds, int row0, int row1 EC_WORKER(, int tile0, int tile1))
{
    const int vectors = spec.tile[EC_CONV_TILE].vectors, filters = vectors * EC_VL;
    const ptrdiff_t channel = EC_STORED_SPAN(spec.filters_as, ec_conv_taps(spec) * filters); /* bytes */
    const int chunks = ec_ceil_div(row1 - row0, spec.rows_per_chunk);
    for (int i = 0; i < ec_max_i(spec.images, 1) * chunks; i++) {
        const int image = i / chunks, y0 = row0 + i % chunks * spec.rows_per_chunk;
        const int y1 = ec_min_i(y0 + spec.rows_per_chunk, row1);
        ec_conv_chunk of = {.in = ec_at(operands.in, image * spec.in_image, spec.in_as),
                            .filters = operands.filters,
                            .bias = operands.bias, .residual = operands.residual,
                            .out = ec_place(operands.out, image * spec.out_image, epilogue.out_as)};
        if (epilogue.has_residual)
            of.residual = ec_at(operands.residual, image * spec.out_image, epilogue.residual_as);
        if (spec.sums_apart)
            of.sums = operands.workspace + spec.sums_at;
        if (spec.decoded_rows) {
            float *const decoded = operands.workspace + spec.decoded_rows_at;
            of.in_row0 = ec_conv_decode_rows(spec, of.in, decoded, y0, y1);
            of.in = decoded;
        }
        for (int t = EC_WORKER_OR(tile0, 0); t < EC_WORKER_OR(tile1, spec.tiles); t++) {
            const ec_taps c = ec_conv_channels(spec, t);
            if (last_kinds && t == spec.tiles - 1)
                ec_conv_filters(spec, epilogue, operands, of, EC_CONV_LAST_TILE, last_kinds, y0, y1, c.from, c.to);
            else
                ec_conv_filters(spec, epilogue, operands, of, EC_CONV_TILE, kinds, y0, y1, c.from, c.to);
            of.filters = (const char *)of.filters + (c.to - c.from) * channel;
            of.bias += filters;
            of.out = ec_place(of.out, vectors * spec.out_vec, epilogue.out_as);
            if (epilogue.has_residual)
                of.residual = ec_at(of.residual, vectors * spec.out_vec, epilogue.residual_as);
        }
    }
}

#endif
