/* Depthwise convolution: one filter per channel, a vector of EC_VL channels at a time.

   Tensors and filters are NCHW[EC_VL]c (NCHW where EC_VL is 1).  One strip is mr neighbouring
   output pixels of a row; each input column under it is loaded once and multiplied into every
   output pixel that it reaches, so that a 3x3 kernel at stride 1 loads a pixel once for three
   multiply-adds.  Columns and rows outside the input are left out.  Filters may be stored in any format
   of ec_stored.h, and in units of a scale per channel, tensors in those that can be written.

   Needs ec_epilogue.h, ec_strips.h and ec_window.h. */
#ifndef EC_CONV_DEPTHWISE_H
#define EC_CONV_DEPTHWISE_H

enum { EC_DEPTHWISE_ROWS = 16 }; /* the largest mr */

/* Constants at the call.  in_as, filters_as: the formats of the input and of the filters, EC_F32 where
   nothing is said. */
typedef struct ec_depthwise {
    ec_window window;
    int images, blocks;         /* of EC_VL channels */
    int in_as, filters_as;      /* */
    ptrdiff_t units_at;         /* so many floats behind a channel's bias lies the unit of its filters;
                                   0: they have none */
#ifdef EC_PREFETCH_DISTANCES
    int prefetch_input;         /* rows of the output from that which is computed to that whose input, what
                                   it reads first, is fetched meanwhile; 0: none is */
#endif
    ec_strips strips[EC_STRIPS];
} ec_depthwise;

/* Where pixel i of a row lies. */
#ifdef EC_CONSTANT_OFFSETS
#define EC_ROW_PIXEL(i) row, (i) * EC_VL
#else
#define EC_ROW_PIXEL(i) block.in, first + (i) * EC_VL
#endif

/* Sums of the output columns [column, column + mr) of a row that reads `met`, in units of the filters if
   they have one.  edge: some input column may lie outside. */
EC_NEST void ec_depthwise_sum(const ec_depthwise spec, const ec_conv_operands block, const ec_rows met,
                                ec_vec *sums, int column, int mr, int edge)
{
    const ec_window window = spec.window;
    const int ix = column * window.stride_w - window.pad_w;
    const int columns = (mr - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
    const ec_vec start = spec.units_at ? ec_set1(0.0f) : ec_load(block.bias);

    EC_UNROLL
    for (int p = 0; p < mr; p++)
        sums[p] = start;
    for (int kz = met.kz.from; kz < met.kz.to; kz++) {
        for (int ky = met.ky.from; ky < met.ky.to; ky++) {
            const int tap = (kz * window.kernel_h + ky) * window.kernel_w;
            const ptrdiff_t first = (ec_row_in(window, met, kz, ky) * window.in_w + ix) * EC_VL;
#ifdef EC_CONSTANT_OFFSETS
            const void *row = ec_at(block.in, first, spec.in_as);
            EC_UNKNOWN(row); /* or compilers make an offset from the input for each pixel */
#endif
            EC_UNROLL
            for (int i = 0; i < columns; i++) {
                if (edge && (ix + i < 0 || ix + i >= window.in_w))
                    continue;
                EC_UNROLL
                for (int kx = 0; kx < window.kernel_w; kx++) {
                    const int reach = i - kx * window.dilation_w; /* p * stride_w of the pixel reached */
                    const int p = reach / window.stride_w;
                    if (reach < 0 || reach % window.stride_w || p >= mr)
                        continue;
                    sums[p] = ec_fma(ec_read_as(EC_ROW_PIXEL(i), EC_VL, spec.in_as),
                                     ec_load_at(block.filters, (tap + kx) * EC_VL, spec.filters_as),
                                     sums[p]);
                }
            }
        }
    }
}

#ifdef EC_PREFETCH_DISTANCES
/* What the columns [column, column + mr) of a later row read that no row before it does.  Behind the last row
   of a block of channels lies the next block. */
EC_INLINE void ec_depthwise_fetch(const ec_depthwise spec, const ec_conv_operands block, int y, int column,
                                  int mr)
{
    const ec_window window = spec.window;
    const int reach = (window.kernel_h - 1) * window.dilation_h - window.pad_h;
    const ptrdiff_t end = (ptrdiff_t)(column + mr) * window.stride_w;
    EC_UNROLL
    for (int i = 0; i < window.stride_h; i++) {
        const ptrdiff_t row = (y + spec.prefetch_input) * window.stride_h + reach - i;
        ec_fetch_run(ec_at(block.in, (row * window.in_w + end) * EC_VL, spec.in_as),
                     mr * window.stride_w * EC_VL * EC_STORED_BYTES(spec.in_as));
    }
}
#endif

#ifdef EC_TILE_RUNS
enum { EC_DEPTHWISE_HELD = 9 }; /* filters that registers hold while the strips of a row pass by */

/* Whether rows are summed with the filters of a block of channels in registers: the columns outside the input must be
   known when strips are compiled, and no plane lie outside. */
EC_INLINE int ec_depthwise_is_held(const ec_depthwise spec, int kinds)
{
    const ec_window window = spec.window;
    for (int kind = 0; kind < kinds; kind++)
        if (spec.strips[kind].edge && spec.strips[kind].count > 1)
            return 0;
    const int planes = window.kernel_d == 1 && !window.pad_d && (window.out_d - 1) * window.stride_d < window.in_d;
    return planes && window.kernel_h * window.kernel_w <= EC_DEPTHWISE_HELD && spec.in_as == EC_F32 &&
           spec.filters_as == EC_F32;
}

/* Adds a row of the kernel to the sums of mr pixels: row is where column ix of the input's row would lie. */
EC_INLINE void ec_depthwise_add(const ec_window window, const char *row, const ec_vec *filters, ec_vec *sums, int ix,
                                int mr, int edge)
{
    const int columns = (mr - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1;
    const int first = edge ? ec_max_i(-ix, 0) : 0, last = edge ? ec_min_i(columns, window.in_w - ix) : columns;
    const char *next = row + first * EC_VL * EC_STORED_BYTES(EC_F32);
    EC_UNROLL
    for (int from = first; from < last; from += 4) {
        const int n = ec_min_i(last - from, 4);
        ec_vec x[4];
        ec_load_run(x, &next, n);
        EC_UNROLL
        for (int i = 0; i < n; i++) {
            EC_UNROLL
            for (int kx = 0; kx < window.kernel_w; kx++) {
                const int reach = from + i - kx * window.dilation_w; /* p * stride_w of the pixel reached */
                const int p = reach / window.stride_w;
                if (reach >= 0 && reach % window.stride_w == 0 && p < mr)
                    sums[p] = ec_fma(x[i], filters[kx], sums[p]);
            }
        }
    }
}

/* The strips of one kind in row (z, y), which meets the rows [from, to) of the kernel: rows[ky] is where column -pad_w
   of the input's row under kernel row ky would lie. */
EC_INLINE void ec_depthwise_held(const ec_depthwise spec, const ec_epilogue epilogue, const ec_conv_operands block,
                                 const char *const *rows, const ec_vec *filters, int z, int y, int kind, int from, int to)
{
    const ec_window window = spec.window;
    const int column = spec.strips[kind].column, mr = spec.strips[kind].width;
    const ptrdiff_t pixel = window.stride_w * EC_VL * EC_STORED_BYTES(EC_F32);
    const ptrdiff_t out_row = ec_row_out(window, z, y) * window.out_w;
    const ec_vec start = ec_load(block.bias);
    EC_NO_UNROLL
    for (int x = column; x < column + spec.strips[kind].count * mr; x += mr) {
        const ec_tile_place place = {.at = (out_row + x) * EC_VL, .row = EC_VL, .rows = mr, .tail = EC_VL};
        ec_vec sums[EC_DEPTHWISE_ROWS];
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            sums[p] = start;
        EC_UNROLL
        for (int ky = 0; ky < window.kernel_h; ky++)
            if (ky >= from && ky < to)
                ec_depthwise_add(window, rows[ky] + x * pixel, filters + ky * window.kernel_w, sums,
                                 column * window.stride_w - window.pad_w, mr, spec.strips[kind].edge);
        ec_tile_finish(epilogue, place, sums, block.residual, block.out, 1);
    }
}

/* Row (z, y) of a block of channels, in strips of `kinds` kinds. */
EC_INLINE void ec_depthwise_held_row(const ec_depthwise spec, const ec_epilogue epilogue, const ec_conv_operands block,
                                     int z, int y, int kinds, int from, int to)
{
    const ec_window window = spec.window;
    const ec_rows met = ec_rows_read(window, z, y);
    const char *rows[EC_DEPTHWISE_HELD];
    ec_vec filters[EC_DEPTHWISE_HELD];
    EC_UNROLL
    for (int i = 0; i < window.kernel_h * window.kernel_w; i++)
        filters[i] = ec_load_at(block.filters, i * EC_VL, EC_F32);
    EC_UNROLL
    for (int ky = 0; ky < window.kernel_h; ky++)
        rows[ky] = ky < from || ky >= to ? NULL
                                         : ec_at(block.in, (ec_row_in(window, met, 0, ky) * window.in_w - window.pad_w) * EC_VL,
                                                 EC_F32);
    ec_depthwise_held(spec, epilogue, block, rows, filters, z, y, 0, from, to);
    if (kinds > 1)
        ec_depthwise_held(spec, epilogue, block, rows, filters, z, y, 1, from, to);
    if (kinds > 2)
        ec_depthwise_held(spec, epilogue, block, rows, filters, z, y, 2, from, to);
    if (kinds > 3)
        ec_depthwise_held(spec, epilogue, block, rows, filters, z, y, 3, from, to);
}
#endif

/* The strips of one kind in row (z, y) of a block of channels. */
EC_INLINE void ec_depthwise_strips(const ec_depthwise spec, const ec_epilogue epilogue,
                                   const ec_conv_operands block, int z, int y, int kind)
{
    const int column = spec.strips[kind].column, width = spec.strips[kind].width;
    const ptrdiff_t row = ec_row_out(spec.window, z, y) * spec.window.out_w;
    for (int x = column; x < column + spec.strips[kind].count * width; x += width) {
        const ec_tile_place place = {
            .at = (row + x) * EC_VL, .row = EC_VL, .rows = width, .tail = EC_VL};
        ec_vec sums[EC_DEPTHWISE_ROWS];
#ifdef EC_PREFETCH_DISTANCES
        if (spec.prefetch_input)
            ec_depthwise_fetch(spec, block, y, x, width);
#endif
        ec_depthwise_sum(spec, block, ec_rows_read(spec.window, z, y), sums, x, width,
                         spec.strips[kind].edge);
        if (spec.units_at)
            ec_tile_bias(sums, block.bias, spec.units_at, width, 1);
        ec_tile_finish(epilogue, place, sums, block.residual, block.out, 1);
    }
}

/* The output rows [row0, row1).  kinds: of strips in a row, as a literal, so that no compiler takes up
   what there is not. */
EC_NEST void ec_conv_depthwise(const ec_depthwise spec, const ec_epilogue epilogue,
                                 const ec_conv_operands operands, int kinds, int row0, int row1 EC_WORKER(, int from, int to))
{
    const ec_window window = spec.window;
    const int taps = window.kernel_d * window.kernel_h * window.kernel_w;
    const ptrdiff_t filters = EC_STORED_SPAN(spec.filters_as, taps * EC_VL); /* bytes */
    const ptrdiff_t in_block = ec_rows_held_in(window) * window.in_w * EC_VL;
    const ptrdiff_t out_block = ec_rows_held_out(window) * window.out_w * EC_VL;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(to, spec.images * spec.blocks); i++) {
        const int channels = spec.images > 1 ? i % spec.blocks : i;
        const ec_conv_operands block = {
            .in = ec_at(operands.in, i * in_block, spec.in_as),
            .filters = (const char *)operands.filters + channels * filters,
            .bias = operands.bias + channels * EC_VL,
            .residual = epilogue.has_residual
                            ? ec_at(operands.residual, i * out_block, epilogue.residual_as)
                            : NULL,
            .out = ec_place(operands.out, i * out_block, epilogue.out_as)};
        for (int z = 0; z < window.out_d; z++)
            for (int y = row0; y < row1; y++) {
#ifdef EC_TILE_RUNS
                if (ec_depthwise_is_held(spec, kinds)) {
                    const ec_taps met = ec_rows_read(window, z, y).ky;
                    if (met.from == 0 && met.to == window.kernel_h)
                        ec_depthwise_held_row(spec, epilogue, block, z, y, kinds, 0, window.kernel_h);
                    else
                        ec_depthwise_held_row(spec, epilogue, block, z, y, kinds, met.from, met.to);
                    continue;
                }
#endif
                ec_depthwise_strips(spec, epilogue, block, z, y, 0);
                if (kinds > 1)
                    ec_depthwise_strips(spec, epilogue, block, z, y, 1);
                if (kinds > 2)
                    ec_depthwise_strips(spec, epilogue, block, z, y, 2);
                if (kinds > 3)
                    ec_depthwise_strips(spec, epilogue, block, z, y, 3);
            }
    }
}

#endif
