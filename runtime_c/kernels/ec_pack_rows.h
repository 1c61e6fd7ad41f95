/* Packing rows of pixels: what a chunk of output rows meets of the input in any layout, its border
   with it, so that any stride and padding looks alike to the micro-kernel.  Elements are rounded to
   bfloat16 and lie in pairs of channels, by what the ISA offers in ec_bfloat16_<isa>.h; without it
   there is nothing here.

   Panel, in words of two channels: block of channels, kernel slice, row, and then column and pair, or
   the other way round where pairs of neighbouring pixels lie side by side (apart).  Needs ec_lanes.h
   and ec_window.h. */
#ifdef EC_PACKS_PAIRS
#ifndef EC_PACK_ROWS_H
#define EC_PACK_ROWS_H

/* Words of one row of a block. */
EC_INLINE ptrdiff_t ec_panel_row(const ec_panel shape)
{
    return (ptrdiff_t)shape.block * shape.phases * shape.wide;
}

/* Row iy of slice iz, from channel c0 of the n that begin with number c of the input. */
EC_INLINE void ec_pack_row(const ec_window window, const ec_panel shape, const ec_source source,
                           const void *in, uint32_t *to, int iz, int iy, int c, int c0, int n)
{
    const int columns = shape.phases * shape.wide, first = c + c0;
    const int whole = 2 * shape.block, few = ec_min_i(whole, n - c0);
    const int lo = ec_ceil_div(window.pad_w, shape.column_stride);
    const int hi = ec_min_i(columns, ec_ceil_div(window.in_w + window.pad_w, shape.column_stride));
    const ptrdiff_t at = first / source.block * source.block_stride + first % source.block +
                         iz * source.plane + iy * source.row +
                         ((ptrdiff_t)lo * shape.column_stride - window.pad_w) * source.pixel;
    const ptrdiff_t next = at + source.vec, stride = shape.column_stride * source.pixel;
    if (lo > 0 || hi < columns)
        memset(to, 0, (size_t)ec_panel_row(shape) * sizeof *to);
    if (few == whole) /* a constant */
        ec_bf16_pack(to, in, source.as, at, next, stride, whole, shape.block, lo, hi, shape.phases,
                     shape.wide);
    else
        ec_bf16_pack(to, in, source.as, at, next, stride, few, shape.block, lo, hi, shape.phases,
                     shape.wide);
}

/* What the output rows [y0, y1) of slice z meet of n channels from number c on. */
EC_INLINE void ec_pack_rows(const ec_window window, const ec_panel shape, const ec_source source,
                            const void *in, uint32_t *panel, int z, int y0, int y1, int c, int n)
{
    const int reach = (y1 - 1 - y0) * window.stride_h + (window.kernel_h - 1) * window.dilation_h;
    const int last = reach / shape.row_stride, blocks = ec_ceil_div(n, 2 * shape.block);
    const ptrdiff_t slice = shape.rows * ec_panel_row(shape);
    for (int block = 0; block < blocks; block++)
        for (int kz = 0; kz < window.kernel_d; kz++) {
            const int iz = z * window.stride_d - window.pad_d + kz * window.dilation_d;
            uint32_t *to = panel + (block * window.kernel_d + kz) * slice;
            if (iz < 0 || iz >= window.in_d)
                continue; /* nor is it read */
            for (int r = 0; r <= last; r++, to += ec_panel_row(shape)) {
                const int iy = y0 * window.stride_h - window.pad_h + r * shape.row_stride;
                if (iy >= 0 && iy < window.in_h)
                    ec_pack_row(window, shape, source, in, to, iz, iy, c, 2 * shape.block * block,
                                n);
            }
        }
}

#endif
#endif
