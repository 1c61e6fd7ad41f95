/* Direct convolution on pairs of bfloat16, summed in float32, where the ISA multiplies them.  What
   it offers for that is in ec_bfloat16_<isa>.h; without it there is nothing here.

   Some rows of the input are rounded to bfloat16 and packed, their border with them, so that any
   layout, stride and padding looks alike to the micro-kernel: every pair of channels of mr
   neighbouring output pixels meets nv vectors of filters in a register tile, whose sums leave it
   once, for the epilogue.  All filters pass over the panel before the next rows are packed.

   Panel, in words of two channels: block of `pairs` pairs, kernel slice, row, and then column and
   pair or the other way round, as the ISA wants.  Weights, in bfloat16: per tile of filters, block
   of pairs, kernel position, pair, filter, channel of the pair. */
#ifdef EC_PAIR_ROWS
#ifndef EC_CONV_BFLOAT16_H
#define EC_CONV_BFLOAT16_H

/* Constants at the call.  Strides of input and output count elements. */
typedef struct ec_bf16 {
    int in_block;                           /* channels side by side in the input */
    int in_d, in_h, in_w;                   /* */
    ptrdiff_t in_block_step;                /* from one channel block to the next */
    ptrdiff_t in_vec;                       /* from EC_VL channels of a pixel to the next */
    ptrdiff_t in_plane, in_row, in_pixel;   /* from one slice, row, pixel to the next */
    int in_as;                              /* format of the input */
    int in_c, pairs, blocks;                /* channels of a group; pairs of a block; blocks */
    int kernel_d, kernel_h, kernel_w;       /* */
    int stride_d, stride_h, stride_w;       /* */
    int dilation_d, dilation_h, dilation_w; /* */
    int pad_d, pad_h, pad_w;                /* before the first slice, row, column */
    int row_step, column_step;              /* from a packed row, column to the next in the input */
    int rows, phases, wide;                 /* of the panel: rows, and columns as phases * wide */
    ptrdiff_t out_plane, out_row, out_pixel, out_vec; /* */
    ptrdiff_t units_at; /* so many floats behind a bias lies the unit of its filters; 0: none */
} ec_bf16;

/* Words of one row of a block. */
EC_INLINE ptrdiff_t ec_bf16_row(const ec_bf16 s)
{
    return (ptrdiff_t)s.pairs * s.phases * s.wide;
}

/* Row iy of slice iz, from channel c0 of the group whose first is number c of the input. */
EC_INLINE void ec_bf16_pack_row(const ec_bf16 s, const void *in, uint32_t *to, int iz, int iy,
                                int c, int c0)
{
    const int columns = s.phases * s.wide, n = ec_min_i(2 * s.pairs, s.in_c - c0), first = c + c0;
    const int lo = ec_ceil_div(s.pad_w, s.column_step);
    const int hi = ec_min_i(columns, ec_ceil_div(s.in_w + s.pad_w, s.column_step));
    const ptrdiff_t at = first / s.in_block * s.in_block_step + first % s.in_block +
                         iz * s.in_plane + iy * s.in_row +
                         ((ptrdiff_t)lo * s.column_step - s.pad_w) * s.in_pixel;
    const ptrdiff_t next = at + s.in_vec, step = s.column_step * s.in_pixel;
    if (lo > 0 || hi < columns)
        memset(to, 0, (size_t)ec_bf16_row(s) * sizeof *to);
    if (n == 2 * s.pairs) /* a constant */
        ec_pairs_pack(to, in, s.in_as, at, next, step, 2 * s.pairs, s.pairs, lo, hi, s.phases,
                      s.wide);
    else
        ec_pairs_pack(to, in, s.in_as, at, next, step, n, s.pairs, lo, hi, s.phases, s.wide);
}

/* What the output rows [y0, y1) of slice z read of in_c channels from number c on. */
EC_INLINE void ec_bf16_pack(const ec_bf16 s, const void *in, uint32_t *panel, int z, int y0, int y1,
                            int c)
{
    const int last = ((y1 - 1 - y0) * s.stride_h + (s.kernel_h - 1) * s.dilation_h) / s.row_step;
    for (int b = 0; b < s.blocks; b++)
        for (int kz = 0; kz < s.kernel_d; kz++) {
            const int iz = z * s.stride_d - s.pad_d + kz * s.dilation_d;
            uint32_t *to = panel + (ptrdiff_t)(b * s.kernel_d + kz) * s.rows * ec_bf16_row(s);
            if (iz < 0 || iz >= s.in_d)
                continue; /* nor is it read */
            for (int r = 0; r <= last; r++, to += ec_bf16_row(s)) {
                const int iy = y0 * s.stride_h - s.pad_h + r * s.row_step;
                if (iy >= 0 && iy < s.in_h)
                    ec_bf16_pack_row(s, in, to, iz, iy, c, 2 * s.pairs * b);
            }
        }
}

/* The output columns [column, column + count) of row (z, y) by nv vectors of filters, of which the
   last keeps tail lanes.  The panel begins with what row y0 reads.  Fetches `lines` cache lines of
   the filters that come next. */
EC_INLINE void ec_bf16_strip(const ec_bf16 s, const ec_epilogue e, const uint32_t *panel,
                             const void *weights, const float *bias, const void *residual,
                             void *out, const char **next, int lines, int z, int y, int y0,
                             int column, int count, int nv, int tail)
{
    const int mr = ec_ceil_div(count, EC_PAIR_ROWS) * EC_PAIR_ROWS;
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int kz0 = iz < 0 ? ec_ceil_div(-iz, s.dilation_d) : 0;
    const int ky0 = iy < 0 ? ec_ceil_div(-iy, s.dilation_h) : 0;
    const int kz1 = ec_min_i(s.kernel_d, ec_ceil_div(s.in_d - iz, s.dilation_d));
    const int ky1 = ec_min_i(s.kernel_h, ec_ceil_div(s.in_h - iy, s.dilation_h));
    const int stride = s.stride_w / s.column_step; /* of a packed column */
    const ptrdiff_t row = ec_bf16_row(s), step = (ptrdiff_t)nv * EC_VL * 4; /* words, bytes */
    const ptrdiff_t pixel = EC_PAIRS_APART ? 1 : (ptrdiff_t)stride * s.pairs;
    const ptrdiff_t pair = EC_PAIRS_APART ? (ptrdiff_t)s.phases * s.wide : 1;
    const uint32_t *const rows_at = panel + (y - y0) * s.stride_h / s.row_step * row;
    const char *w_block = weights, *ahead = *next;
    const ptrdiff_t at = z * s.out_plane + y * s.out_row + column * s.out_pixel;
    const int calls = s.blocks * s.kernel_d * s.kernel_h * s.kernel_w;
    const int each = ec_ceil_div(lines, calls);
    const char *const end = ahead + (ptrdiff_t)lines * EC_LINE_BYTES;
    ec_pair_tile tile;
    ec_vec rows[EC_TILE_VECS];

    ec_pairs_init(&tile, mr, nv);
    for (int b = 0; b < s.blocks; b++) {
        const int kc = ec_min_i(s.pairs, (s.in_c + 1) / 2 - b * s.pairs);
        for (int kz = kz0; kz < kz1; kz++)
            for (int ky = ky0; ky < ky1; ky++) {
                const int down = (b * s.kernel_d + kz) * s.rows + ky * s.dilation_h / s.row_step;
                const uint32_t *const a = rows_at + down * row;
                const char *w = w_block + (kz * s.kernel_h + ky) * s.kernel_w * (kc * step);
                for (int kx = 0; kx < s.kernel_w; kx++, w += kc * step) {
                    const int x = column * stride + kx * s.dilation_w; /* packed column */
                    const ptrdiff_t from =
                        EC_PAIRS_APART ? (ptrdiff_t)(x % s.phases) * s.wide + x / s.phases
                                       : (ptrdiff_t)x * s.pairs;
                    for (int i = 0; i < each && ahead < end; i++, ahead += EC_LINE_BYTES)
                        EC_PREFETCH(ahead);
                    EC_STEP();
                    ec_pairs_mac(&tile, a + from, pixel, pair, w, kc, mr, nv);
                }
            }
        w_block += (ptrdiff_t)s.kernel_d * s.kernel_h * s.kernel_w * (kc * step);
    }
    *next = end;
    ec_pairs_read(&tile, rows, mr, nv);
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const int n = j < nv - 1 ? EC_VL : tail;
        const ec_vec start = ec_load_n(bias + j * EC_VL, n);
        const ec_vec unit = s.units_at ? ec_load_n(bias + s.units_at + j * EC_VL, n) : ec_set1(1.0f);
        EC_UNROLL
        for (int p = 0; p < count; p++)
            ec_finish(e,
                      s.units_at ? ec_fma(rows[p * nv + j], unit, start)
                              : ec_add(rows[p * nv + j], start),
                      residual, out, at + p * s.out_pixel + j * s.out_vec, n);
    }
}

#endif
#endif
