/* The window of a convolution: how its kernel goes over the input; and how that lies. */
#ifndef EC_WINDOW_H
#define EC_WINDOW_H

/* Constants at the call; sizes in pixels. */
typedef struct ec_window {
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w; /* before the first slice, row, column */
} ec_window;

/* A panel of packed rows: blocks of so many groups of k elements; every row_stride-th row and
   column_stride-th column of the input, these as phases * wide.  apart: the same group of neighbouring
   columns lies side by side, rather than the groups of a column. */
typedef struct ec_panel {
    int block, rows, row_stride, column_stride, phases, wide, apart;
} ec_panel;

/* How the input lies of which rows are packed: `block` channels side by side, then the next
   block_stride behind; `vec` from EC_VL channels of a pixel to the next.  Strides count elements. */
typedef struct ec_source {
    int as, block;
    ptrdiff_t block_stride, vec, plane, row, pixel;
} ec_source;

#endif
