/* The macro-kernel over packed operands: products of filters, which are packed at compile time, with
   pixels, which are packed just before use.  Goto and van de Geijn's loops, ACM TOMS 2008; over
   columns of NCHW it is SConv (Ferrari et al., ACM TACO 2023, Figure 5).

     for every set of channels: for lines_far lines of pixels: for tiles_far tiles of filters:
       for chunk lines of these: pack them; for tiles_near of these tiles, decode them:
         for every line, strip and tile: the micro-kernel, then the epilogue

   A line are pixels that follow each other in the output: a row, or, where columns are packed, what
   one panel holds.  Filters are the rows of the micro-kernel's tile and pixels its vectors where the
   output has channel after channel; else pixels are the rows.

   Filters: group, set of channels, tile, block of channels, kernel position, group of k elements,
   filter, element.  They may be stored in any format of ec_stored.h, and in units of a scale per
   channel.  Those of another format are decoded to memory, once for all panels that they meet while
   they are near (decoding in registers would take as long for every panel).

   Needs ec_epilogue.h, ec_decode.h, ec_micro_kernel.h, ec_window.h and ec_gemm_spec.h. */
#ifndef EC_GEMM_H
#define EC_GEMM_H

/* depth steps of the micro-kernel, which prefetch where the board wants that. */
EC_INLINE void ec_gemm_multiply(const ec_gemm spec, ec_sums *tile, const char *a, ptrdiff_t a_row,
                                ptrdiff_t a_k, const char *b, int depth, ec_prefetch *prefetch,
                                int mr, int nv)
{
    (void)prefetch; /* of some */
    switch (spec.fetching) {
    case EC_PREFETCH_NEXT:
        ec_row_mac_prefetch(spec.micro_kernel, tile, a, a_row, a_k, b, depth, prefetch, mr, nv);
        break;
    case EC_PREFETCH_NOTHING:
        ec_row_mac(spec.micro_kernel, tile, a, a_row, a_k, b, depth, mr, nv);
        break;
    }
}

/* Sums over a panel of packed rows, of which the strip begins at `column`: pixels are the rows.  A run
   of steps are the groups of a block; where that has one, the columns of the kernel; where these lie together, both,
   as a matrix unit that takes several steps at once has them where they lie side by side. */
EC_INLINE void ec_gemm_sum_rows(const ec_gemm spec, const ec_window window, ec_sums *tile,
                                const ec_gemm_line here, int column, ec_prefetch prefetch, int mr, int nv)
{
    const ec_panel panel = spec.panel;
    const int groups = ec_gemm_groups(spec, here.n), blocks = ec_ceil_div(groups, panel.block);
    const int by_columns = panel.block == 1 && panel.phases == 1;
    const int runs = blocks * window.kernel_d * window.kernel_h * (panel.together ? 1 : window.kernel_w);
    const int stride = window.stride_w / panel.column_stride / panel.phases; /* in its columns */
    const ptrdiff_t columns = (ptrdiff_t)panel.phases * panel.wide;
    const ptrdiff_t in_row = 4 * panel.block * columns; /* bytes to the next */
    const ptrdiff_t in_column = panel.apart ? 4 : 4 * panel.block;
    const ptrdiff_t in_group = panel.apart ? 4 * columns : 4;
    const ptrdiff_t in_k = by_columns ? window.dilation_w * in_column : in_group;
    const int few = runs * ec_ceil_div(panel.block, EC_GEMM_FEW); /* times that some is fetched */
    const char *const strip = here.pixels + column * stride * in_column, *filters = here.filters;
    prefetch.lines = ec_ceil_div((int)(prefetch.end - prefetch.next), few * EC_LINE_BYTES);
    for (int block = 0; block < blocks; block++) {
        const int depth = ec_min_i(panel.block, groups - block * panel.block);
        int joined = by_columns || panel.together;
#ifdef EC_MEMORY_SUMS
        joined |= ec_row_in_memory(spec.micro_kernel) && !panel.apart && window.dilation_w == 1 &&
                  depth == panel.block;
#endif
        const int run = joined ? window.kernel_w * depth : depth;
        const ptrdiff_t of_tap = (ptrdiff_t)depth * nv * EC_VL * 4;
        for (int kz = here.met.kz.from; kz < here.met.kz.to; kz++)
            for (int ky = here.met.ky.from; ky < here.met.ky.to; ky++) {
                const int down = (block * window.kernel_d + kz) * panel.rows +
                                 ky * window.dilation_h / panel.row_stride;
                const char *of = filters + (kz * window.kernel_h + ky) * window.kernel_w * of_tap;
                for (int kx = 0; kx < (joined ? 1 : window.kernel_w); kx++, of += of_tap) {
                    const int x = kx * window.dilation_w;
                    const ptrdiff_t at =
                        (ptrdiff_t)(x % panel.phases) * panel.wide + x / panel.phases;
                    EC_IN_ORDER();
                    ec_gemm_multiply(spec, tile, strip + down * in_row + at * in_column,
                                     stride * in_column, in_k, of, run, &prefetch, mr, nv);
                }
            }
        filters += (ptrdiff_t)window.kernel_d * window.kernel_h * window.kernel_w * of_tap;
    }
}

/* Sums over a panel of columns, all channels and kernel positions in a row: filters are the rows. */
EC_INLINE void ec_gemm_sum_columns(const ec_gemm spec, const ec_window window, ec_sums *tile,
                                   const ec_gemm_line here, ec_prefetch prefetch, int mr, int nv)
{
    const int depth = ec_gemm_depth(spec, window, here.n);
    prefetch.lines = ec_ceil_div((int)(prefetch.end - prefetch.next),
                                 ec_ceil_div(depth, EC_GEMM_FEW) * EC_LINE_BYTES);
    ec_gemm_multiply(spec, tile, here.filters, 4, 4 * mr, here.pixels, depth, &prefetch, mr, nv);
}

/* The epilogue of a tile that lies at out + at: `rows` rows by `columns` lanes of it exist.  One vector
   after the other, since activations need registers, too. */
EC_INLINE void ec_gemm_finish(const ec_gemm spec, const ec_gemm_given given,
                              const ec_channel_set set, const ec_vec *sums, const float *bias,
                              ptrdiff_t at, int rows, int columns, int nv)
{
    const int by_filters = ec_gemm_filters_are_rows(spec);
    const ec_gemm_operands operands = *given.operands;
    const ec_tile_place place = {.at = at, .row = spec.out_row, .vec = spec.out_vec, .rows = rows,
                                 .tail = columns - (nv - 1) * EC_VL};
    float *const out = operands.out;
    EC_UNROLL
    for (int p = 0; p < rows; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const int n = ec_tile_lanes(place, j, nv);
            const ptrdiff_t to = ec_tile_at(place, p, j);
            const float *const of = bias + (by_filters ? p : j * EC_VL);
            ec_vec x = sums[p * nv + j];
            if (spec.units_at)
                x = ec_mul(x, by_filters ? ec_set1(of[spec.units_at])
                                         : ec_read(of + spec.units_at, n));
            if (!set.first) /* what the sets before have summed */
                x = ec_add(x, ec_read(out + to, n));
            else
                x = ec_add(x, by_filters ? ec_set1(*of) : ec_read(of, n));
            if (set.first && spec.start_with_residual)
                x = ec_add(x, ec_read((const float *)operands.residual + to, n));
            if (set.last)
                ec_finish(*given.epilogue, x, operands.residual, operands.out, to, n);
            else
                ec_write(out + to, x, n);
        }
    }
}

/* Sums of strip number `strip` of a line, which begins at `column`: `pixels` of it. */
EC_INLINE void ec_gemm_sum(const ec_gemm spec, const ec_gemm_given given, const ec_gemm_line here, ec_sums *tile,
                           int strip, int column, int pixels, int mr, int nv)
{
    const char *const next = here.next + strip * here.fetched;
    const ec_prefetch prefetch = {.next = next, .end = next + here.fetched,
                                  .few = EC_GEMM_FEW, .near = 1};
    (void)column, (void)pixels; /* of some */
#ifdef EC_PACKED_ZERO_POINTS
    if (ec_gemm_starts_around(spec))
        ec_gemm_start_around(spec, tile, here, column, pixels, mr, nv);
    else
        ec_row_init(spec.micro_kernel, tile, here.start, ec_gemm_filters_are_rows(spec), mr, nv);
#else
    ec_row_init(spec.micro_kernel, tile, here.start, ec_gemm_filters_are_rows(spec), mr, nv);
#endif
    switch (spec.packing) {
    case EC_PACK_COLUMNS:
        ec_gemm_sum_columns(spec, *given.window, tile, here, prefetch, mr, nv);
        break;
    case EC_PACK_ROWS:
        ec_gemm_sum_rows(spec, *given.window, tile, here, column, prefetch, mr, nv);
        break;
    }
}

/* What becomes of them: `rows` rows by `columns` lanes, which lie at out + at. */
EC_INLINE void ec_gemm_results(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                               const ec_gemm_line here, const ec_sums *tile, ptrdiff_t at, int column,
                               int rows, int columns, int mr, int nv)
{
    ec_vec sums[EC_TILE_VECS];
    (void)column; /* of some */
#ifdef EC_REQUANTISE_H
    if (spec.requantise.asked) { /* pixels are the rows */
        int32_t own[EC_TILE_VECS * EC_VL], *const words = ec_row_words(spec.micro_kernel, tile, own, mr, nv);
#ifdef EC_PACKED_ZERO_POINTS
        if (spec.sums_at)
            ec_gemm_add_around(words, here, column, rows, nv);
#endif
        ec_requantise_tile(spec.requantise, words, here.multiplier, given.operands->residual,
                           given.operands->out, at, spec.out_row, spec.out_vec, rows, columns, nv);
        return;
    }
#endif
#ifdef EC_PACKED_ZERO_POINTS
    if (spec.sums_at && !ec_gemm_starts_around(spec))
        ec_gemm_add_around(ec_row_words(spec.micro_kernel, tile, sums, mr, nv), here, column, rows, nv);
#endif
#ifdef EC_MEMORY_SUMS
    for (int p = 0; ec_row_in_memory(spec.micro_kernel) && p < rows; p++) { /* of any number */
        const ec_sums row = {.job = {.sums = (float *)tile->job.sums + (ptrdiff_t)p * nv * EC_VL, .mr = 1, .nv = nv}};
        const float *const bias = here.bias + (ec_gemm_filters_are_rows(spec) ? p : 0);
        ec_row_read(spec.micro_kernel, &row, sums, 1, nv);
        ec_gemm_finish(spec, given, set, sums, bias, at + p * spec.out_row, 1, columns, nv);
    }
    if (ec_row_in_memory(spec.micro_kernel))
        return;
#endif
    ec_row_read(spec.micro_kernel, tile, sums, mr, nv);
    ec_gemm_finish(spec, given, set, sums, here.bias, at, rows, columns, nv);
}

/* Strip number `strip` of a line, which begins at `column`: `pixels` of it by `filters`. */
EC_NEST void ec_gemm_tile(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                          const ec_gemm_line here, int strip, int column, int filters, int pixels)
{
    const int by_filters = ec_gemm_filters_are_rows(spec);
    const int rows = by_filters ? filters : pixels, columns = by_filters ? pixels : filters;
    const int mr = ec_ceil_div(rows, spec.row_multiple) * spec.row_multiple;
    const int nv = ec_ceil_div(columns, EC_VL);
    const ptrdiff_t at = here.at + (by_filters ? column / EC_VL * spec.out_vec : column * spec.out_row);
    ec_sums tile;
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(spec.micro_kernel)) {
        float *const words = here.words + (ptrdiff_t)strip * spec.waiting.strip;
        if (here.finishing) {
            tile.job = (ec_dot_job){.sums = words, .mr = mr, .nv = nv};
            ec_gemm_results(spec, given, set, here, &tile, at, column, rows, columns, mr, nv);
        } else {
            tile.jobs = here.jobs;
            ec_gemm_sum(spec, given, here, &tile, strip, column, pixels, mr, nv);
            ec_row_save(spec.micro_kernel, &tile, words, mr, nv);
        }
        return;
    }
#endif
    ec_gemm_sum(spec, given, here, &tile, strip, column, pixels, mr, nv);
    ec_gemm_results(spec, given, set, here, &tile, at, column, rows, columns, mr, nv);
}

/* The strips of a line under a tile of so many filters. */
EC_NEST void ec_gemm_strips(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                            const ec_gemm_line here, const ec_cut cut, int filters)
{
    int strip = 0, column = 0;
    switch (spec.packing) {
    case EC_PACK_COLUMNS:
        if (spec.last_pixels && here.last) {
            ec_gemm_tile(spec, given, set, here, 0, 0, filters, spec.last_pixels);
            return;
        }
        break;
    case EC_PACK_ROWS:
        break;
    }
    for (; strip < cut.count; strip++, column += cut.wide)
        ec_gemm_tile(spec, given, set, here, strip, column, filters, cut.wide);
    for (; strip < cut.count + cut.rest; strip++, column += cut.narrow)
        ec_gemm_tile(spec, given, set, here, strip, column, filters,
                     cut.narrow);
}

/* Brings tiles [from, to) of filters to their places, if need be. */
EC_INLINE void ec_gemm_decode(const ec_gemm spec, const ec_gemm_operands operands,
                              const ec_channel_set set, int depth, int from, int to)
{
    const int wide = ec_gemm_padded(spec, spec.filters.wide);
    const ptrdiff_t whole = ec_gemm_tile_bytes(spec, spec.filters.wide, depth);
    for (int filter = from; spec.filters_as != EC_F32 && filter < to; filter++) {
        const int filters = filter < spec.filters.count ? spec.filters.wide : spec.filters.narrow;
        ec_decode(operands.decoded + (ptrdiff_t)(filter - from) * wide * depth,
                  set.filters + filter * whole, ec_gemm_padded(spec, filters) * depth,
                  spec.filters_as);
    }
}

/* Lines of slice z that are packed, [from, to), and the tiles of filters that are near from number `near` on. */
typedef struct ec_gemm_span {
    int z, from, to, near;
} ec_gemm_span;

/* One of the lines of a span under one of its tiles of filters. */
EC_INLINE ec_gemm_line ec_gemm_line_of(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                                       const ec_gemm_span span, int line, int filter)
{
    const ec_window window = *given.window;
    const ec_gemm_operands operands = *given.operands;
    const int depth = ec_gemm_depth(spec, window, set.n);
    const int wide = ec_gemm_padded(spec, spec.filters.wide);
    const int strips = spec.pixels.count + spec.pixels.rest;
    const int first = filter * spec.filters.wide;
    const ptrdiff_t tile = ec_gemm_tile_bytes(spec, spec.filters.wide, depth);
    const ptrdiff_t panel = ec_gemm_line_bytes(spec, window, set.n);
    const ptrdiff_t fetched =
        (ptrdiff_t)ec_ceil_div((int)tile, (span.to - span.from) * strips * EC_LINE_BYTES) * EC_LINE_BYTES;
    const float *const place = operands.decoded + (ptrdiff_t)(filter - span.near) * wide * depth;
#ifdef EC_PACKED_ZERO_POINTS
    const int32_t *const inputs = (const int32_t *)(const void *)operands.panels + spec.sums_at;
    const int wide_line = spec.sums_at ? ec_gemm_line_pixels(spec) : 0;
#endif
    return (ec_gemm_line){
        .filters = spec.filters_as == EC_F32 ? set.filters + filter * tile : (const char *)place,
        .pixels = (const char *)operands.panels + (line - span.from) * panel,
        .bias = set.bias ? set.bias + first : NULL,
        .start = set.start ? set.start + first : NULL,
        .multiplier = set.multiplier ? set.multiplier + first : NULL,
#ifdef EC_PACKED_ZERO_POINTS
        .by_sum = set.by_sum ? set.by_sum + first : NULL,
        .inputs = inputs + (line - span.from) * wide_line,
#endif
        .at = set.at + span.z * spec.out_slice + line * spec.out_line +
              (ec_gemm_filters_are_rows(spec) ? first * spec.out_row : first / EC_VL * spec.out_vec),
        .n = set.n,
        .last = line == spec.lines - 1,
        .met = spec.panel.element ? ec_rows_whole(window) : ec_rows_read(window, span.z, line),
        .next = set.filters + (filter + 1) * tile + (line - span.from) * strips * fetched,
        .fetched = fetched};
}

/* Its strips. */
EC_INLINE void ec_gemm_across(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                              const ec_gemm_line here, int filter)
{
    if (spec.filters.count && (!spec.filters.rest || filter < spec.filters.count))
        ec_gemm_strips(spec, given, set, here, spec.pixels,
                       spec.filters.wide);
    else
        ec_gemm_strips(spec, given, set, here,
                       spec.narrow_pixels.wide ? spec.narrow_pixels : spec.pixels,
                       spec.filters.narrow);
}

#ifdef EC_MEMORY_SUMS
/* A span up to tile `end`, where the micro-kernel's sums are memory: as many lines as wait at a time are
   summed, then their results are made. */
EC_NEST void ec_gemm_by_stretches(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                                  const ec_gemm_span span, int end)
{
    const int lines = span.to - span.from, tiles = end - span.near, count = lines * tiles;
    const int by_tiles = spec.waiting.by_tiles;
    for (int first = 0; first < count; first += spec.waiting.lines) {
        const int last = ec_min_i(first + spec.waiting.lines, count);
        ec_jobs jobs;
        for (int finishing = 0; finishing < 2; finishing++) {
            if (!finishing)
                ec_row_enter(spec.micro_kernel, &jobs);
            for (int i = first; i < last; i++) {
                const int filter = span.near + (by_tiles ? i / lines : i % tiles);
                const int line = span.from + (by_tiles ? i % lines : i / tiles);
                ec_gemm_line here = ec_gemm_line_of(spec, given, set, span, line, filter);
                here.words = given.operands->panels + spec.waiting.at + (ptrdiff_t)(i - first) * spec.waiting.line;
                here.finishing = finishing;
                here.jobs = &jobs;
                ec_gemm_across(spec, given, set, here, filter);
            }
            if (!finishing)
                ec_row_leave(spec.micro_kernel, &jobs);
        }
    }
}
#endif

/* Tiles [f0, f1) of filters on the lines [from, to) of slice z, which are packed. */
EC_NEST void ec_gemm_chunk(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                           int z, int from, int to, int f0, int f1)
{
    const int depth = ec_gemm_depth(spec, *given.window, set.n);
    for (int near = f0; near < f1; near += spec.tiles_near) {
        const int end = ec_min_i(near + spec.tiles_near, f1);
        const ec_gemm_span span = {.z = z, .from = from, .to = to, .near = near};
        ec_gemm_decode(spec, *given.operands, set, depth, near, end);
#ifdef EC_MEMORY_SUMS
        if (ec_row_in_memory(spec.micro_kernel)) {
            ec_gemm_by_stretches(spec, given, set, span, end);
            continue;
        }
#endif
        for (int line = from; line < to; line++)
            for (int filter = near; filter < end; filter++) {
                const ec_gemm_line here = ec_gemm_line_of(spec, given, set, span, line, filter);
                ec_gemm_across(spec, given, set, here, filter);
            }
    }
}

/* What the lines [from, to) of slice z meet. */
EC_NEST void ec_gemm_pack(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                          int z, int from, int to)
{
    const ec_window window = *given.window;
    float *panels = given.operands->panels;
    (void)z, (void)window, (void)panels; /* of some */
#ifdef EC_PACKED_WINDOWS
    if (spec.panel.windows) {
        ec_pack_windows(*given.packed, spec.panel, spec.in, set.in, panels, from, to);
        return;
    }
#endif
#ifdef EC_PACK_ROWS_H
    if (spec.packing == EC_PACK_ROWS)
        ec_pack_rows(window, spec.panel, spec.in, set.in, (uint32_t *)(void *)panels, spec.k, z,
                     from, to, set.c, set.n);
#endif
#ifdef EC_PACK_COLUMNS_H
    if (spec.packing == EC_PACK_COLUMNS) {
        const ptrdiff_t panel = (ptrdiff_t)spec.pixels.wide * ec_gemm_depth(spec, window, set.n);
        const ptrdiff_t plane = (ptrdiff_t)window.in_d * window.in_h * window.in_w;
        const float *const in = (const float *)set.in + set.c * plane;
        for (int line = from; line < to; line++, panels += panel) {
            const int first = line * spec.pixels.wide;
            if (spec.last_pixels && line == spec.lines - 1)
                ec_pack_columns(window, in, set.n, first, panels, ec_ceil_div(spec.last_pixels, EC_VL));
            else
                ec_pack_columns(window, in, set.n, first, panels, spec.pixels.wide / EC_VL);
        }
    }
#endif
}

/* The lines [from, to) of every slice, of one set of channels. */
EC_INLINE void ec_gemm_set(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                           int from, int to EC_WORKER(, int tile0, int tile1))
{
    const int tiles = EC_WORKER_OR(tile1, ec_gemm_tiles(spec));
    for (int z = 0; z < spec.slices; z++)
        for (int far = from; far < to; far += spec.lines_far) {
            const int far_end = ec_min_i(far + spec.lines_far, to);
            for (int filter = EC_WORKER_OR(tile0, 0); filter < tiles; filter += spec.tiles_far) {
                const int f_end = ec_min_i(filter + spec.tiles_far, tiles);
                for (int line = far; line < far_end; line += spec.chunk) {
                    const int end = ec_min_i(line + spec.chunk, far_end);
                    ec_gemm_pack(spec, given, set, z, line, end);
#ifdef EC_PACKED_ZERO_POINTS
                    int32_t *const words = (int32_t *)(void *)given.operands->panels;
                    if (spec.sums_at)
                        ec_gemm_sum_windows(spec, *given.window, set, words + spec.sums_at, words + spec.pixels_at, z,
                                            line, end);
#endif
                    ec_gemm_chunk(spec, given, set, z, line, end, filter, f_end);
                }
            }
        }
}

/* Some lines of all images and groups: whoever computes them has panels of his own. */
EC_NEST void ec_gemm_run(const ec_gemm spec, const ec_window window, const ec_epilogue epilogue,
                         const ec_gemm_operands operands EC_WORKER(, int row0, int row1, int tile0, int tile1))
{
#ifdef EC_PACKED_WINDOWS
    const ec_window sums = spec.panel.windows ? ec_window_of_one(window) : window;
    const ec_gemm_given given = {
        .window = &sums, .epilogue = &epilogue, .operands = &operands, .packed = &window
    };
#else
    const ec_gemm_given given = {&window, &epilogue, &operands};
#endif
    const int sets = spec.nc < spec.in_c;
    for (int i = 0; i < spec.batch * spec.groups; i++) { /* images, and in each its groups */
        const int image = i / spec.groups, group = i % spec.groups;
        const ptrdiff_t of_set = ec_gemm_set_bytes(spec, *given.window, spec.nc);
        const int left = spec.in_c % spec.nc;
        const ptrdiff_t of_last = left ? ec_gemm_set_bytes(spec, *given.window, left) : 0;
        const ptrdiff_t of_group = spec.in_c / spec.nc * of_set + of_last;
        const char *filters = (const char *)operands.filters + group * of_group;
        for (int c = 0; c < spec.in_c; c += spec.nc, filters += of_set) {
            const int n = sets ? ec_min_i(spec.nc, spec.in_c - c) : spec.in_c;
            const ec_channel_set set = {
                .in = ec_at(operands.in, image * spec.in_batch, spec.in.as),
                .filters = filters,
                .bias = operands.bias ? operands.bias + group * spec.out_c : NULL,
                .start = operands.start ? operands.start + group * spec.out_c : NULL,
                .multiplier = operands.multiplier ? operands.multiplier + group * spec.out_c : NULL,
#ifdef EC_PACKED_ZERO_POINTS
                .by_sum = operands.by_sum ? operands.by_sum + group * spec.out_c : NULL,
#endif
                .at = image * spec.out_batch + group * spec.out_group,
                .c = group * spec.in_c + c,
                .n = n,
                .first = !sets || c == 0,
                .last = !sets || c + n == spec.in_c};
            ec_gemm_set(spec, given, set, EC_WORKER_OR(row0, 0), EC_WORKER_OR(row1, spec.lines) EC_WORKER(, tile0, tile1));
        }
    }
}

#endif
