/* Direct convolution over blocked layouts: Algorithm 1 of NeoCPU (Liu et al., USENIX ATC 2019).

   One strip is mr neighbouring output pixels of one row by nv vectors of filters, kept in a
   register tile while input channels and kernel positions pass by.  Nothing is padded or copied:
   kernel rows outside the input are left out, and at the left and right border the tile rows whose
   pixel would lie outside are left out, kernel column by kernel column.

   Input: NCHW[x]c, NCHW (x = 1) or NHWC (x = in_c), as the strides say.  Output: vectors of EC_VL
   neighbouring channels, so NCHW[EC_VL]c or NHWC.  Weights: per tile of nv vectors of filters, for
   each input channel block, kernel position and channel of the block, nv * EC_VL filters.  Grouped
   convolutions pass through the same loops: a tile reads the channels of the groups that its
   filters belong to, with zero weights between them.

   Filters may be stored in any format of ec_stored.h, and in units of a scale per channel.  So may
   input, output and residual in those that can be written; they are decoded in registers when they are
   read, or rows of the input once for all tiles before, and encoded before they are written. */
#ifndef EC_CONV_DIRECT_H
#define EC_CONV_DIRECT_H

/* All members are constants at the call.  Strides count elements.  in_as, filters_as: the formats
   of the input and of the filters, EC_F32 where nothing is said.  units_at: so many floats behind a
   channel's bias lies the unit of its filters; 0 where they have none.  sums_apart: sums wait for
   the next pass in ec_part's sums rather than in the output, as they must where that is not
   float32. */
typedef struct ec_conv {
    int in_block;                               /* channels side by side in the input */
    int in_d, in_h, in_w;                       /* input size; in_d = 1 for images */
    ptrdiff_t in_block_step;                    /* from one channel block to the next */
    ptrdiff_t in_plane, in_row, in_pixel;       /* from one slice, row, pixel to the next */
    int kernel_d, kernel_h, kernel_w;           /* */
    int stride_d, stride_h, stride_w;           /* */
    int dilation_d, dilation_h, dilation_w;     /* */
    int pad_d, pad_h, pad_w;                    /* before the first slice, row, column */
    ptrdiff_t out_plane, out_row, out_pixel;    /* */
    ptrdiff_t out_vec;                          /* from one vector of channels to the next */
    int filters_as;                             /* */
    ptrdiff_t units_at;                         /* */
    int in_as;                                  /* */
    int sums_apart;                             /* */
    int in_ring, out_ring; /* rows that memory holds at a time, see ec_ring */
} ec_conv;

/* The input channels [c0, c1) of one pass over a strip.  Sums of passes before the last one wait in
   the output if it is float32, and otherwise in sums: mr * nv vectors per strip, strip by strip in
   the order in which every pass takes them.  While a pass computes, it fetches the filters that are wanted next: lines cache lines
   from next on.  Both pointers move on strip by strip.  in_row0: the first row of the input that memory
   holds, where only those of some output rows have been decoded. */
typedef struct ec_part {
    int c0, c1;
    int first, last;
    const void *next;
    int lines;
    float *sums;
    int in_row0;
} ec_part;

/* What is added to the sums of this pass, for vector j of pixel p: the residual in the first one, the
   sums of those before in later ones. */
EC_INLINE ec_vec ec_conv_before(const ec_conv s, const ec_epilogue e, const ec_part *part,
                                const void *residual, const void *out, ptrdiff_t at, int p, int j,
                                int nv, int tail)
{
    const ptrdiff_t i = at + p * s.out_pixel + j * s.out_vec;
    const int n = j < nv - 1 ? EC_VL : tail;
    if (part->first)
        return ec_read_as(residual, i, n, e.residual_as);
    return s.sums_apart ? ec_load(part->sums + (p * nv + j) * EC_VL) : ec_read_as(out, i, n, EC_F32);
}

/* Sums start as the bias; a strip's later passes go on from those that wait.  Where they wait in the
   output, the residual comes in with the first pass, because its memory may be the output's. */
EC_INLINE void ec_conv_begin(const ec_conv s, const ec_epilogue e, const ec_part *part,
                             ec_tile *tile, const float *bias, const void *residual,
                             const void *out, ptrdiff_t at, int mr, int nv, int tail)
{
    ec_vec rows[EC_TILE_VECS];
    ec_tile_init(tile, bias, mr, nv);
    if (part->first && !residual)
        return;
    ec_tile_read(tile, rows, mr, nv);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ec_vec sum = ec_conv_before(s, e, part, residual, out, at, p, j, nv, tail);
            rows[p * nv + j] = part->first ? ec_add(rows[p * nv + j], sum) : sum;
        }
    }
    ec_tile_write(tile, rows, mr, nv);
}

/* Sums in units of their channels' scales become what they stand for, and are added to the bias in the
   first pass, to those that wait in later ones, which are never in units. */
EC_INLINE void ec_conv_scale(const ec_conv s, const ec_epilogue e, const ec_part *part,
                             ec_vec *rows, const float *bias, const void *residual,
                             const void *out, ptrdiff_t at, int mr, int nv, int tail)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_vec unit = ec_load(bias + s.units_at + j * EC_VL);
        const ec_vec start = part->first ? ec_load(bias + j * EC_VL) : ec_set1(0.0f);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            rows[p * nv + j] = ec_fma(rows[p * nv + j], unit, start);
    }
    if (part->first && !residual)
        return;
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            rows[p * nv + j] =
                ec_add(rows[p * nv + j],
                       ec_conv_before(s, e, part, residual, out, at, p, j, nv, tail));
    }
}

/* Filters ahead of use, a few lines per multiplication so that they do not queue. */
EC_INLINE const char *ec_conv_fetch(const char *next, const char *end, int lines)
{
    for (int i = 0; i < lines && next < end; i++, next += EC_LINE_BYTES)
        EC_PREFETCH(next);
    return next;
}

/* The output columns [column, column + mr) of row (z, y), nv vectors of filters of which the last
   keeps tail lanes.  edge: some kernel column may fall outside the input. */
EC_INLINE void ec_conv_strip(const ec_conv s, const ec_epilogue e, ec_part *part, const void *in,
                             const void *weights, const float *bias, const void *residual,
                             void *out, int z, int y, int column, int mr, int nv, int tail,
                             int edge)
{
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int ix = column * s.stride_w - s.pad_w;
    const int kz0 = iz < 0 ? ec_ceil_div(-iz, s.dilation_d) : 0;
    const int ky0 = iy < 0 ? ec_ceil_div(-iy, s.dilation_h) : 0;
    const int kz1 = ec_min_i(s.kernel_d, ec_ceil_div(s.in_d - iz, s.dilation_d));
    const int ky1 = ec_min_i(s.kernel_h, ec_ceil_div(s.in_h - iy, s.dilation_h));
    const int fmt = s.filters_as;
    const ptrdiff_t nr = EC_STORED_SPAN(fmt, nv * EC_VL); /* bytes */
    const ptrdiff_t tile_row = s.stride_w * s.in_pixel;
    const ptrdiff_t at =
        z * s.out_plane + ec_ring(y, s.out_ring) * s.out_row + column * s.out_pixel;
    ptrdiff_t block = part->c0 / s.in_block * s.in_block_step;
    const char *w_block = weights, *next = part->next;
    const char *const next_end = next + (ptrdiff_t)part->lines * EC_LINE_BYTES;
    int lines = 0; /* per multiplication */
    ec_tile tile;
    ec_vec rows[EC_TILE_VECS];

    if (part->lines) {
        const int macs = (kz1 - kz0) * (ky1 - ky0) * s.kernel_w * (part->c1 - part->c0);
        lines = ec_ceil_div(part->lines * s.in_block, ec_max_i(macs, 1));
    }
    const int split = !(part->first && part->last);
    const int early = split && !s.sums_apart; /* the residual */
    const void *const added = early && e.has_residual ? residual : NULL;
    ec_epilogue finish = e;
    if (early)
        finish.has_residual = 0;
    if (s.units_at)
        ec_tile_init(&tile, NULL, mr, nv);
    else if (split)
        ec_conv_begin(s, e, part, &tile, bias, added, out, at, mr, nv, tail);
    else
        ec_tile_init(&tile, bias, mr, nv);
    for (int c = part->c0; c < part->c1; block += s.in_block_step) {
        const int first = c % s.in_block;
        const int kc = s.in_block == 1 ? 1 : ec_min_i(s.in_block - first, part->c1 - c);
        for (int kz = kz0; kz < kz1; kz++) {
            for (int ky = ky0; ky < ky1; ky++) {
                const ptrdiff_t a = block + first + (iz + kz * s.dilation_d) * s.in_plane +
                                    ec_ring(iy - part->in_row0 + ky * s.dilation_h, s.in_ring) * s.in_row +
                                    ix * s.in_pixel;
                const char *w = w_block + (kz * s.kernel_h + ky) * s.kernel_w * (kc * nr);
                if (!edge) {
                    for (int kx = 0; kx < s.kernel_w; kx++) {
                        EC_IN_ORDER();
                        next = ec_conv_fetch(next, next_end, lines);
                        ec_tile_mac(&tile, ec_at(in, a + kx * s.dilation_w * s.in_pixel, s.in_as),
                                    s.in_as, tile_row, 1, w + kx * (kc * nr), fmt, kc, mr, nv, 0, mr);
                    }
                } else {
                    EC_UNROLL
                    for (int kx = 0; kx < s.kernel_w; kx++) {
                        const int ax = ix + kx * s.dilation_w; /* input column of tile row 0 */
                        const int lo = ec_max_i(ec_ceil_div(-ax, s.stride_w), 0);
                        const int hi = ec_min_i(ec_ceil_div(s.in_w - ax, s.stride_w), mr);
                        EC_IN_ORDER();
                        next = ec_conv_fetch(next, next_end, lines);
                        if (lo < hi)
                            ec_tile_mac(&tile,
                                        ec_at(in, a + kx * s.dilation_w * s.in_pixel, s.in_as),
                                        s.in_as, tile_row, 1, w + kx * (kc * nr), fmt, kc, mr, nv, lo, hi);
                    }
                }
            }
        }
        w_block += s.kernel_d * s.kernel_h * s.kernel_w * (kc * nr);
        c += kc;
    }
    part->next = next_end;
    ec_tile_read(&tile, rows, mr, nv);
    if (s.units_at)
        ec_conv_scale(s, e, part, rows, bias, added, out, at, mr, nv, tail);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ptrdiff_t to = at + p * s.out_pixel + j * s.out_vec;
            const int n = j < nv - 1 ? EC_VL : tail;
            if (part->last)
                ec_finish(finish, rows[p * nv + j], residual, out, to, n);
            else if (s.sums_apart)
                ec_store(part->sums + (p * nv + j) * EC_VL, rows[p * nv + j]);
            else
                ec_write_as(out, to, rows[p * nv + j], n, EC_F32);
        }
    }
    if (s.sums_apart)
        part->sums += mr * nv * EC_VL;
}

#endif
