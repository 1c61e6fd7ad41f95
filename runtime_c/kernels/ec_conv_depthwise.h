/* Depthwise convolution: one filter per channel, a vector of EC_VL channels at a time.

   Tensors and filters are NCHW[EC_VL]c (NCHW where EC_VL is 1).  One strip is mr neighbouring
   output pixels of a row; each input column under it is loaded once and multiplied into every
   output pixel that it reaches, so that a 3x3 kernel at stride 1 loads a pixel once for three
   multiply-adds.  Columns and rows outside the input are left out.  Filters may be stored in any format
   of ec_stored.h, and in units of a scale per channel, tensors in those that can be written. */
#ifndef EC_CONV_DEPTHWISE_H
#define EC_CONV_DEPTHWISE_H

enum { EC_DEPTHWISE_ROWS = 16 }; /* the largest mr */

/* Constants at the call; sizes in pixels, the tensors' rows follow each other.  in_as, filters_as: the
   formats of the input and of the filters, EC_F32 where nothing is said.  units_at: so many floats behind
   a channel's bias lies the unit of its filters; 0 where they have none. */
typedef struct ec_depthwise {
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w; /* before the first slice, row, column */
    int filters_as;
    ptrdiff_t units_at;
    int in_as;
    int in_ring, out_ring; /* rows that memory holds at a time, see ec_ring */
} ec_depthwise;

/* Output columns [column, column + mr) of row (z, y) of one channel block.  edge: some input column
   may lie outside. */
EC_INLINE void ec_depthwise_strip(const ec_depthwise s, const ec_epilogue e, const void *in,
                                  const void *weights, const float *bias, const void *residual,
                                  void *out, int z, int y, int column, int mr, int edge)
{
    const int iz = z * s.stride_d - s.pad_d, iy = y * s.stride_h - s.pad_h;
    const int ix = column * s.stride_w - s.pad_w;
    const int kz0 = iz < 0 ? ec_ceil_div(-iz, s.dilation_d) : 0;
    const int ky0 = iy < 0 ? ec_ceil_div(-iy, s.dilation_h) : 0;
    const int kz1 = ec_min_i(s.kernel_d, ec_ceil_div(s.in_d - iz, s.dilation_d));
    const int ky1 = ec_min_i(s.kernel_h, ec_ceil_div(s.in_h - iy, s.dilation_h));
    const int columns = (mr - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
    const ec_vec start = s.units_at ? ec_set1(0.0f) : ec_load(bias);
    ec_vec acc[EC_DEPTHWISE_ROWS];

    EC_UNROLL
    for (int p = 0; p < mr; p++)
        acc[p] = start;
    for (int kz = kz0; kz < kz1; kz++) {
        for (int ky = ky0; ky < ky1; ky++) {
            const int tap = (kz * s.kernel_h + ky) * s.kernel_w;
            const ptrdiff_t row =
                (ptrdiff_t)(iz + kz * s.dilation_d) * s.in_h +
                ec_ring(iy + ky * s.dilation_h, s.in_ring);
            const ptrdiff_t a = (row * s.in_w + ix) * EC_VL;
            EC_UNROLL
            for (int c = 0; c < columns; c++) {
                if (edge && (ix + c < 0 || ix + c >= s.in_w))
                    continue;
                EC_UNROLL
                for (int kx = 0; kx < s.kernel_w; kx++) {
                    const int reach = c - kx * s.dilation_w; /* p * stride_w of the pixel reached */
                    if (reach < 0 || reach % s.stride_w || reach / s.stride_w >= mr)
                        continue;
                    acc[reach / s.stride_w] =
                        ec_fma(ec_read_as(in, a + c * EC_VL, EC_VL, s.in_as),
                               ec_load_at(weights, (tap + kx) * EC_VL, s.filters_as),
                               acc[reach / s.stride_w]);
                }
            }
        }
    }
    const ptrdiff_t at =
        (((ptrdiff_t)z * s.out_h + ec_ring(y, s.out_ring)) * s.out_w + column) * EC_VL;
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        if (s.units_at)
            acc[p] = ec_fma(acc[p], ec_load(bias + s.units_at), ec_load(bias));
        ec_finish(e, acc[p], residual, out, at + p * EC_VL, EC_VL);
    }
}

#endif
