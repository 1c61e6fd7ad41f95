/* Two-dimensional Winograd convolution of stride 1 on NCHW[EC_VL]c (Lavin and Gray, CVPR 2016): a tile
   of the input is transformed, multiplied position by position with transformed filters, summed over
   the channels, and what comes of it transformed to a tile of the output.

     for every image and group: for every strip of tiles: pack it, transformed;
       for vectors of filters: for every position of a tile: the micro-kernel on rows of tiles;
         for every tile: transformation of the sums, then the epilogue

   A strip holds no more tiles than find room near the core, so that the workspace does not grow with
   the image.  Tiles go row by row; those at the right and at the bottom may reach beyond the output,
   and rows of the micro-kernel beyond the last tile are zero.

   Where tiles are of one row and filters of several, products of the rows of a filter with as many
   rows of tiles are summed before they are transformed back: in one dimension an F(m, r), in
   the other a convolution.  Rows of tiles are then those of the input, which meet a strip's.

   A convolution with strides is one without of the phases of its input (ec_phases.h).  With dilation
   pixels a dilation apart are convolved without it, as an image of their own.

   Filters: vectors of a micro-kernel's tile, position, row of the filter, input channel, filter.
   Panel: position, and then tile and channel; or, where the micro-kernel has its rows packed, rows of
   a micro-kernel's tile, channel and tile.  Behind it the sums: position, tile, vector.

   Of int8 the same is computed in integers, on channels that lie last (ec_int8_winograd.h): words of
   the panel and of filters are pairs of int16 then, of two channels, and sums are int32.

   Needs ec_winograd_spec.h, ec_micro_kernel.h, ec_window.h and the program's routines, or
   ec_int8_winograd.h; without either there is nothing here. */
#if defined(EC_ROUTINES) || defined(EC_INT8_WINOGRAD_H)
#ifndef EC_WINOGRAD_H
#define EC_WINOGRAD_H

#ifdef EC_ROUTINES
/* The columns of a tile by a routine that makes `made` rows of them: from `from` to `to`, of which each
   lies position by position with so many floats from one to the next. */
EC_INLINE void ec_winograd_columns(const ec_winograd spec, int routine, int made, const float *from,
                                   ptrdiff_t from_apart, float *to, ptrdiff_t to_apart)
{
    for (int j = 0; j < spec.taken_w; j++, from += from_apart, to += to_apart) {
        ec_vec v[EC_WINOGRAD_SIDE];
        EC_UNROLL
        for (int i = 0; i < spec.taken_h; i++)
            v[i] = ec_load(from + i * spec.taken_w * from_apart);
        ec_transform(routine, v);
        EC_UNROLL
        for (int i = 0; i < made; i++)
            ec_store(to + i * spec.taken_w * to_apart, v[i]);
    }
}

/* A tile of EC_VL channels that begins at row y and column x, which may lie outside; transformed to
   `to`, position by position with `apart` floats from each to the next. */
EC_INLINE void ec_winograd_input(const ec_winograd spec, const float *in, int y, int x, float *to,
                                 ptrdiff_t apart)
{
    float rows[EC_WINOGRAD_TILE * EC_VL];
    float *const by_rows = spec.taken_h > 1 ? rows : to;
    const ptrdiff_t by_rows_apart = spec.taken_h > 1 ? EC_VL : apart;
    const int high_by = ec_winograd_apart_h(spec), wide_by = ec_winograd_apart_w(spec);
    const ec_taps down = ec_taps_within(y, spec.taken_h, high_by, 0, spec.in_h);
    const ec_taps wide = ec_taps_within(x, spec.taken_w, wide_by, 0, spec.in_w);
    for (int i = 0; i < spec.taken_h; i++) {
        ec_vec v[EC_WINOGRAD_SIDE];
        if (i < down.from || i >= down.to) {
            EC_UNROLL
            for (int j = 0; j < spec.taken_w; j++)
                v[j] = ec_set1(0.0f);
        } else if (ec_taps_count(wide) == spec.taken_w) {
            const float *const from = in + ((ptrdiff_t)(y + i * high_by) * spec.in_w + x) * EC_VL;
            EC_UNROLL
            for (int j = 0; j < spec.taken_w; j++)
                v[j] = ec_load(from + j * wide_by * EC_VL);
        } else {
            const float *const row = in + (ptrdiff_t)(y + i * high_by) * spec.in_w * EC_VL;
            EC_UNROLL
            for (int j = 0; j < spec.taken_w; j++)
                v[j] = j < wide.from || j >= wide.to ? ec_set1(0.0f)
                                                     : ec_load(row + (x + j * wide_by) * EC_VL);
        }
        if (spec.taken_w > 1)
            ec_transform(spec.in_rows_by, v);
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            ec_store(by_rows + (i * spec.taken_w + j) * by_rows_apart, v[j]);
    }
    if (spec.taken_h > 1)
        ec_winograd_columns(spec, spec.in_columns_by, spec.taken_h, rows, EC_VL, to, apart);
}
#endif

/* Tile number `tile` of those from `start` on, of EC_VL words of channels from number `word` on, where
   the group begins at `in`; zeros where there is no such tile. */
EC_INLINE void ec_winograd_tile(const ec_winograd spec, const void *in, int word, ec_winograd_start start,
                                int tile, float *to, ptrdiff_t apart)
{
    const ec_winograd_start at = ec_winograd_at(spec, start, tile);
    const int y = at.y - spec.pad_h, x = at.x - spec.pad_w;
    const int met = tile < spec.tiles + (spec.summed - 1) * spec.across;
#ifdef EC_INT8_WINOGRAD_H
    if (met && spec.pairs) {
        ec_int8_winograd_input(spec, (const int8_t *)in + 2 * word, spec.channels - 2 * word, y, x, to, apart);
        return;
    }
#endif
#ifdef EC_ROUTINES
    if (met && !spec.pairs) {
        ec_winograd_input(spec, (const float *)in + (ptrdiff_t)word * spec.in_h * spec.in_w, y, x, to, apart);
        return;
    }
#endif
    for (int t = 0; t < ec_winograd_positions(spec); t++)
        ec_store(to + t * apart, ec_set1(0.0f));
}

/* EC_VL tiles from number `first` on, whose channels come to lie tile by tile. */
EC_INLINE void ec_winograd_tiles_packed(const ec_winograd spec, const void *in, int word,
                                        ec_winograd_start start, int first, float *to, ptrdiff_t apart)
{
    float tiles[EC_WINOGRAD_TILE * EC_VL * EC_VL];
    for (int i = 0; i < EC_VL; i++)
        ec_winograd_tile(spec, in, word, start, first + i, tiles + i * EC_VL, EC_VL * EC_VL);
    for (int t = 0; t < ec_winograd_positions(spec); t++) {
        ec_vec v[EC_VL];
        EC_UNROLL
        for (int i = 0; i < EC_VL; i++)
            v[i] = ec_load(tiles + (t * EC_VL + i) * EC_VL);
        ec_transpose(v);
        EC_UNROLL
        for (int i = 0; i < EC_VL; i++)
            ec_store(to + t * apart + i * spec.mr, v[i]);
    }
}

/* The strip that begins with tile number `first`. */
EC_NEST void ec_winograd_pack(const ec_winograd spec, const void *in, ec_winograd_start start, int first,
                              float *panel)
{
    const int blocks = ec_ceil_div(spec.in_c, EC_VL);
    const ptrdiff_t apart = (ptrdiff_t)ec_winograd_held(spec) * spec.line;
    for (int tile = 0; tile < ec_winograd_held(spec); tile += spec.packed ? EC_VL : 1)
        for (int block = 0; block < blocks; block++) {
            if (spec.packed)
                ec_winograd_tiles_packed(spec, in, block * EC_VL, start, first + tile,
                                         panel + (ptrdiff_t)(tile - tile % spec.mr) * spec.line +
                                             (ptrdiff_t)block * EC_VL * spec.mr + tile % spec.mr,
                                         apart);
            else
                ec_winograd_tile(spec, in, block * EC_VL, start, first + tile,
                                 panel + (ptrdiff_t)tile * spec.line + block * EC_VL, apart);
        }
}

#ifdef EC_PREFETCH_DISTANCES
/* ec_winograd_mac of tiles that lie side by side, which are fetched by their distance, and so are filters that
   no other tile has met. */
EC_INLINE void ec_winograd_mac_prefetch(const ec_winograd spec, ec_sums *sums, const char *a, const char *b,
                                        int channels, int first, int nv)
{
    const ptrdiff_t a_k = EC_WORD * (ptrdiff_t)spec.mr, b_k = EC_WORD * (ptrdiff_t)nv * EC_VL;
    EC_NO_UNROLL
    for (int c = 0; c < channels; c += EC_PREFETCH_CHANNELS) {
        EC_UNROLL
        for (int i = 0; i < EC_PREFETCH_CHANNELS * a_k; i += EC_LINE_BYTES)
            EC_PREFETCH_L1(a + c * a_k + spec.prefetch_tiles + i);
        if (first && spec.prefetch_filters) {
            EC_UNROLL
            for (int i = 0; i < EC_PREFETCH_CHANNELS * b_k; i += EC_LINE_BYTES)
                EC_PREFETCH_L1(b + c * b_k + spec.prefetch_filters + i);
        }
        ec_row_mac(spec.micro_kernel, sums, a + c * a_k, EC_WORD, a_k, b + c * b_k,
                   ec_min_i(EC_PREFETCH_CHANNELS, channels - c), spec.mr, nv);
    }
}
#endif

/* A register tile's products with so many channels of filters.  Those that the first one of a strip
   meets come from furthest away. */
EC_INLINE void ec_winograd_mac(const ec_winograd spec, ec_sums *sums, const float *tiles,
                               ptrdiff_t a_row, ptrdiff_t a_k, const float *filters, int channels,
                               int first, int nv)
{
    const char *const a = (const char *)tiles, *const b = (const char *)filters;
#ifdef EC_PREFETCH_DISTANCES
    if (spec.prefetch_tiles) {
        ec_winograd_mac_prefetch(spec, sums, a, b, channels, first, nv);
        return;
    }
#endif
    switch (first ? spec.fetching : EC_PREFETCH_NOTHING) {
    case EC_PREFETCH_NEXT: {
        const char *const next = b + EC_WINOGRAD_PREFETCH;
        const int bytes = nv * EC_VL * EC_WORD; /* of a channel */
        ec_prefetch prefetch = {.next = next, .end = next + (ptrdiff_t)channels * bytes,
                                .lines = ec_ceil_div(EC_WINOGRAD_FEW * bytes, EC_LINE_BYTES),
                                .few = EC_WINOGRAD_FEW};
        ec_row_mac_prefetch(spec.micro_kernel, sums, a, a_row, a_k, b, channels, &prefetch, spec.mr, nv);
        break;
    }
    case EC_PREFETCH_NOTHING:
        ec_row_mac(spec.micro_kernel, sums, a, a_row, a_k, b, channels, spec.mr, nv);
        break;
    }
}

/* What a position multiplies of its channels: runs of so many, each `apart` channels from the last. */
typedef struct ec_winograd_depth {
    int runs, channels, apart;
} ec_winograd_depth;

/* At infinity, the last row and column, a filter has its last tap alone: phases without it, which come
   last, have no products there. */
EC_INLINE ec_winograd_depth ec_winograd_depth_of(const ec_winograd spec, int position)
{
    if (!spec.phases_h)
        return (ec_winograd_depth){.runs = 1, .channels = spec.in_c};
    const int i = position / spec.taken_w, j = position % spec.taken_w;
    const int rows = spec.taken_h > 1 && i == spec.taken_h - 1 ? spec.whole_h : spec.phases_h;
    const int columns = spec.taken_w > 1 && j == spec.taken_w - 1 ? spec.whole_w : spec.phases_w;
    const int phase = spec.in_c / (spec.phases_h * spec.phases_w);
    if (columns == spec.phases_w)
        return (ec_winograd_depth){.runs = 1, .channels = rows * columns * phase};
    return (ec_winograd_depth){
        .runs = rows, .channels = columns * phase, .apart = spec.phases_w * phase};
}

/* Channels of all positions together. */
EC_INLINE int ec_winograd_channels(const ec_winograd spec)
{
    int channels = 0;
    if (!spec.phases_h)
        return ec_winograd_positions(spec) * spec.in_c;
    for (int t = 0; t < ec_winograd_positions(spec); t++) {
        const ec_winograd_depth depth = ec_winograd_depth_of(spec, t);
        channels += depth.runs * depth.channels;
    }
    return channels;
}

/* Products of all positions of a strip with nv vectors of filters, summed over the channels; those of
   one position on top of `first`, if there is any. */
EC_INLINE void ec_winograd_multiply(const ec_winograd spec, const float *panel, const float *filters,
                                    const int32_t *first, float *sums, int nv)
{
    const ptrdiff_t a_row = spec.packed ? EC_WORD : EC_WORD * (ptrdiff_t)spec.line;
    const ptrdiff_t a_k = spec.packed ? EC_WORD * (ptrdiff_t)spec.mr : EC_WORD;
    const ptrdiff_t a_summed = (ptrdiff_t)spec.across * spec.line;
#ifdef EC_MEMORY_SUMS
    ec_jobs jobs;
    ec_row_enter(spec.micro_kernel, &jobs);
#endif
    for (int t = 0; t < ec_winograd_positions(spec); t++) {
        const ec_winograd_depth depth = ec_winograd_depth_of(spec, t);
        const ptrdiff_t b_run = (ptrdiff_t)depth.channels * nv * EC_VL;
        for (int tile = 0; tile < spec.strip; tile += spec.mr) {
            const float *b = filters;
            ec_sums of;
#ifdef EC_MEMORY_SUMS
            of.jobs = &jobs;
#endif
            ec_row_init(spec.micro_kernel, &of, t == spec.start_at ? first : NULL, 0, spec.mr, nv);
            for (int row = 0; row < spec.summed; row++)
                for (int run = 0; run < depth.runs; run++, b += b_run)
                    ec_winograd_mac(spec, &of,
                                    panel + tile * (ptrdiff_t)spec.line + row * a_summed +
                                        run * depth.apart * a_k / EC_WORD,
                                    a_row, a_k, b, depth.channels, tile == 0, nv);
            ec_row_save(spec.micro_kernel, &of, sums, spec.mr, nv);
            sums += spec.mr * nv * EC_VL;
        }
        panel += (ptrdiff_t)ec_winograd_held(spec) * spec.line;
        filters += spec.summed * depth.runs * b_run;
    }
#ifdef EC_MEMORY_SUMS
    ec_row_leave(spec.micro_kernel, &jobs);
#endif
}

#ifdef EC_ROUTINES
/* The sums of a tile, `apart` floats from position to position, become outputs of a plane. */
EC_INLINE void ec_winograd_output(const ec_winograd spec, const ec_epilogue epilogue,
                                  const ec_winograd_operands operands, const float *sums,
                                  ptrdiff_t apart, ec_vec bias, ptrdiff_t plane,
                                  ec_winograd_start at)
{
    float rows[EC_WINOGRAD_TILE * EC_VL];
    const float *const by_columns = spec.taken_h > 1 ? rows : sums;
    const ptrdiff_t by_columns_apart = spec.taken_h > 1 ? EC_VL : apart;
    if (spec.taken_h > 1)
        ec_winograd_columns(spec, spec.out_columns_by, spec.made_h, sums, apart, rows, EC_VL);
    const int high_by = ec_winograd_apart_h(spec), wide_by = ec_winograd_apart_w(spec);
    const int made = ec_min_i(spec.made_w, ec_ceil_div(spec.out_w - at.x, wide_by));
    const int high = ec_ceil_div(spec.out_h - at.y, high_by);
    /* By both bounds apart, or GCC 12 takes rows that no column made to be read. */
    for (int i = 0; i < spec.made_h && i < high; i++) {
        const ptrdiff_t row = plane + ((ptrdiff_t)(at.y + i * high_by) * spec.out_w + at.x) * EC_VL;
        ec_vec v[EC_WINOGRAD_SIDE];
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            v[j] = ec_load(by_columns + (i * spec.taken_w + j) * by_columns_apart);
        if (spec.taken_w > 1)
            ec_transform(spec.out_rows_by, v);
        EC_UNROLL
        for (int j = 0; j < spec.made_w; j++)
            if (j < made)
                ec_finish(epilogue, ec_add(v[j], bias), operands.residual, operands.out,
                          row + j * wide_by * EC_VL, EC_VL);
    }
}
#endif

/* The strip that begins with tile `first`, by nv vectors of filters from number `vector` on. */
EC_NEST void ec_winograd_strip(const ec_winograd spec, const ec_epilogue epilogue,
                               const ec_winograd_operands operands, ec_winograd_start start, int image,
                               int first, int vector, int nv)
{
    const int positions = ec_winograd_positions(spec);
    const ptrdiff_t of_vector = (ptrdiff_t)spec.summed * ec_winograd_channels(spec) * EC_VL;
    float *const sums =
        operands.panel + (ptrdiff_t)positions * ec_winograd_held(spec) * spec.line;
    const int32_t *const begin = spec.pairs ? operands.start + ec_winograd_channel(spec, vector) : NULL;
    ec_winograd_multiply(spec, operands.panel, (const float *)operands.filters + vector * of_vector,
                         begin, sums, nv);
    (void)epilogue; /* of float32 */
#ifdef EC_INT8_WINOGRAD_H
    if (spec.pairs) {
        ec_int8_winograd_outputs(spec, operands, (const int32_t *)(const void *)sums, start, image, first,
                                 vector, nv);
        return;
    }
#endif
#ifdef EC_ROUTINES
    const ptrdiff_t plane = (ptrdiff_t)spec.out_h * spec.out_w * EC_VL;
    for (int tile = 0; tile < ec_min_i(spec.strip, spec.tiles - first); tile++)
        for (int j = 0; j < nv; j++)
            ec_winograd_output(spec, epilogue, operands,
                               sums + ((ptrdiff_t)tile * nv + j) * EC_VL,
                               (ptrdiff_t)spec.strip * nv * EC_VL,
                               ec_load(operands.bias + (vector + j) * EC_VL),
                               ((ptrdiff_t)image * spec.groups * spec.vectors + vector + j) * plane,
                               ec_winograd_at(spec, start, first + tile));
#endif
}

/* What begins at `start` of a group of an image, whose channels begin at `in` and whose filters with
   vector number `begin`. */
EC_NEST void ec_winograd_group(const ec_winograd spec, const ec_epilogue epilogue,
                               const ec_winograd_operands operands, const void *in,
                               ec_winograd_start start, int image, int begin EC_WORKER(, int strip0, int strip1, int nv0, int nv1))
{
    const int end = begin + EC_WORKER_OR(ec_min_i(nv1 * spec.nv, spec.vectors), spec.vectors);
    for (int first = EC_WORKER_OR(strip0 * spec.strip, 0); first < EC_WORKER_OR(ec_min_i(strip1 * spec.strip, spec.tiles), spec.tiles); first += spec.strip) {
        int vector = begin EC_WORKER(+ nv0 * spec.nv);
        ec_winograd_pack(spec, in, start, first, operands.panel);
        for (; vector + spec.nv <= end; vector += spec.nv)
            ec_winograd_strip(spec, epilogue, operands, start, image, first, vector, spec.nv);
        if (spec.vectors % spec.nv EC_WORKER(&& vector < end))
            ec_winograd_strip(spec, epilogue, operands, start, image, first, vector, spec.vectors % spec.nv);
    }
}

EC_INLINE void ec_winograd_run(const ec_winograd spec, const ec_epilogue epilogue,
                               const ec_winograd_operands operands EC_WORKER(, int strip0, int strip1, int nv0, int nv1))
{
    const ptrdiff_t size = (ptrdiff_t)spec.in_h * spec.in_w;
    const ptrdiff_t of_group = EC_WORD * ec_ceil_div(spec.in_c, EC_VL) * EC_VL * size; /* bytes */
    for (int image = 0; image < spec.batch; image++)
        for (int group = 0; group < spec.groups; group++) {
            const char *const in = (const char *)operands.in +
                                   (spec.pairs ? image * size * spec.in_pixel + group * spec.channels
                                               : ((ptrdiff_t)image * spec.groups + group) * of_group);
            for (int y = 0; y < ec_min_i(ec_winograd_apart_h(spec), spec.out_h); y++)
                for (int x = 0; x < ec_min_i(ec_winograd_apart_w(spec), spec.out_w); x++) {
                    const ec_winograd_start start = {y, x};
                    ec_winograd_group(spec, epilogue, operands, in, start, image, group * spec.vectors EC_WORKER(, strip0, strip1, nv0, nv1));
                }
        }
}

#endif
#endif
