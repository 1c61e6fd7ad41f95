/* Direct convolution over blocked layouts: Algorithm 1 of NeoCPU (Liu et al., USENIX ATC 2019).

   One strip is mr neighbouring output pixels of one row by nv vectors of filters, kept in a
   register tile while input channels and kernel positions pass by.  Nothing is padded or copied:
   kernel rows outside the input are left out, and at the left and right border the tile rows whose
   pixel would lie outside are left out, kernel column by kernel column.

   Input: NCHW[x]c, NCHW (x = 1) or NHWC (x = in_c), as the strides say.  Output: vectors of EC_VL
   neighbouring channels, so NCHW[EC_VL]c or NHWC.  Weights: per tile of nv vectors of filters, for
   each input channel block, kernel position and channel of the block, nv * EC_VL filters.  Grouped
   convolutions pass through the same loops: a tile reads the channels of the groups that its
   filters belong to, with zero weights between them. */
#ifndef EC_CONV_DIRECT_H
#define EC_CONV_DIRECT_H

/* All members are constants at the call.  Strides count floats. */
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
} ec_conv;

/* The output columns [column, column + mr) of row (z, y), channels [c0, c1), nv vectors of filters
   of which the last keeps tail lanes.  edge: some kernel column may fall outside the input. */
EC_INLINE void ec_conv_strip(const ec_conv s, const ec_epilogue e, const float *in,
                             const float *weights, const float *bias, const float *residual,
                             float *out, int c0, int c1, int z, int y, int column, int mr, int nv,
                             int tail, int edge)
{
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int ix = column * s.stride_w - s.pad_w;
    const int kz0 = iz < 0 ? ec_ceil_div(-iz, s.dilation_d) : 0;
    const int ky0 = iy < 0 ? ec_ceil_div(-iy, s.dilation_h) : 0;
    const int kz1 = ec_min_i(s.kernel_d, ec_ceil_div(s.in_d - iz, s.dilation_d));
    const int ky1 = ec_min_i(s.kernel_h, ec_ceil_div(s.in_h - iy, s.dilation_h));
    const ptrdiff_t nr = (ptrdiff_t)nv * EC_VL;
    const ptrdiff_t tile_row = s.stride_w * s.in_pixel;
    const float *block = in + c0 / s.in_block * s.in_block_step;
    const float *w_block = weights;
    ec_tile tile;
    ec_vec rows[EC_TILE_VECS];

    ec_tile_init(&tile, bias, mr, nv);
    for (int c = c0; c < c1; block += s.in_block_step) {
        const int first = c % s.in_block;
        const int kc = s.in_block == 1 ? 1 : ec_min_i(s.in_block - first, c1 - c);
        for (int kz = kz0; kz < kz1; kz++) {
            for (int ky = ky0; ky < ky1; ky++) {
                const float *a = block + first + (iz + kz * s.dilation_d) * s.in_plane +
                                 (iy + ky * s.dilation_h) * s.in_row + ix * s.in_pixel;
                const float *w = w_block + (kz * s.kernel_h + ky) * s.kernel_w * (kc * nr);
                if (!edge) {
                    for (int kx = 0; kx < s.kernel_w; kx++) {
                        EC_STEP();
                        ec_tile_mac(&tile, a + kx * s.dilation_w * s.in_pixel, tile_row, 1,
                                    w + kx * (kc * nr), kc, mr, nv, 0, mr);
                    }
                } else {
                    EC_UNROLL
                    for (int kx = 0; kx < s.kernel_w; kx++) {
                        const int at = ix + kx * s.dilation_w; /* input column of tile row 0 */
                        const int lo = ec_max_i(ec_ceil_div(-at, s.stride_w), 0);
                        const int hi = ec_min_i(ec_ceil_div(s.in_w - at, s.stride_w), mr);
                        EC_STEP();
                        if (lo < hi)
                            ec_tile_mac(&tile, a + kx * s.dilation_w * s.in_pixel, tile_row, 1,
                                        w + kx * (kc * nr), kc, mr, nv, lo, hi);
                    }
                }
            }
        }
        w_block += s.kernel_d * s.kernel_h * s.kernel_w * (kc * nr);
        c += kc;
    }
    ec_tile_read(&tile, rows, mr, nv);
    const ptrdiff_t at = z * s.out_plane + y * s.out_row + column * s.out_pixel;
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_finish(e, rows[p * nv + j], residual, out, at + p * s.out_pixel + j * s.out_vec,
                      j == nv - 1 ? tail : EC_VL);
    }
}

#endif
