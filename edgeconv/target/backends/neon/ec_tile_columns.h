/* Register tiles over blocks of EC_VL channels in turn, and over columns of a channel.  Included by ISA headers of AArch64,
   which have ec_tile_block: a block of all rows, *pixels and *stored move on. */

#ifdef EC_TILE_RUNS
/* `blocks` of EC_VL channels of all rows, the next block_stride bytes behind the one before.  Meanwhile
   `fetched` bytes for each are fetched from next on: no line is left out, some are fetched twice. */
EC_INLINE void ec_tile_blocks(ec_tile *tile, const char *pixels, ptrdiff_t pixel, ptrdiff_t block_stride,
                              const char *stored, int blocks, const char *next, int fetched, int mr, int nv)
{
    const int stride = 2 * fetched;
    EC_NO_UNROLL
    for (int i = 0; i < blocks / 2; i++, next += stride) {
        for (int line = 0; line < ec_ceil_div(stride, EC_LINE_BYTES); line++)
            EC_PREFETCH(next + line * EC_LINE_BYTES);
        ec_tile_block(tile, &pixels, pixel, block_stride, &stored, mr, nv);
        ec_tile_block(tile, &pixels, pixel, block_stride, &stored, mr, nv);
    }
    if (blocks % 2)
        ec_tile_block(tile, &pixels, pixel, block_stride, &stored, mr, nv);
}
#endif

/* Columns of the input that the rows of a tile read under a row of the kernel. */
EC_INLINE int ec_tile_reach(int kernel_w, int stride_w, int dilation_w, int mr)
{
    return (mr - 1) * stride_w + (kernel_w - 1) * dilation_w + 1;
}

/* Whether registers have room for ec_tile_columns. */
EC_INLINE int ec_tile_holds_columns(int columns, int mr, int nv)
{
    return EC_LOADS_FOUR && columns >= EC_VL && mr * nv + ec_ceil_div(columns, EC_VL) + nv <= 32;
}

/* A row of the kernel over one channel, whose columns lie side by side: they are loaded once, four to a vector, the last
   vector from the last column backwards, since no memory may lie behind that.  *stored moves on behind the filters.  Both
   in float32. */
EC_INLINE void ec_tile_columns(ec_tile *tile, const char *row, const char **stored, int kernel_w, int stride_w,
                               int dilation_w, int mr, int nv)
{
    const int columns = ec_tile_reach(kernel_w, stride_w, dilation_w, mr), whole = columns / EC_VL;
    const char *at = row, *last = row + (columns - EC_VL) * EC_STORED_BYTES(EC_F32);
    ec_vec x[EC_TILE_VECS];
    EC_IN_ORDER();
    ec_load_beside(x, &at, 16, 0, whole);
    if (columns % EC_VL)
        ec_load_beside(x + whole, &last, 16, 0, 1);
    EC_UNROLL
    for (int kx = 0; kx < kernel_w; kx++) {
        ec_vec filters[EC_TILE_VECS];
        ec_load_run(filters, stored, nv);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const int column = p * stride_w + kx * dilation_w, in_last = column >= whole * EC_VL;
            const int lane = in_last ? column - columns + EC_VL : column % EC_VL;
            EC_UNROLL
            for (int j = 0; j < nv; j++)
                ec_add_in_order(&tile->acc[p * nv + j], filters[j], x[column / EC_VL], lane);
        }
    }
}
