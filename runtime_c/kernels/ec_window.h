/* The window of a convolution or a pool: how it goes over the input, and which positions of a kernel
   meet that; and how the input lies. */
#ifndef EC_WINDOW_H
#define EC_WINDOW_H

/* Constants at the call; sizes in pixels, the outermost ones 1 for images and signals.  The window of
   an output position starts at position * stride - pad. */
typedef struct ec_window {
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w; /* before the first slice, row, column */
    int in_ring, out_ring;   /* rows that memory holds at a time, see ec_ring */
} ec_window;

/* A panel of packed rows: blocks of so many groups of k elements; every row_stride-th row and
   column_stride-th column of the input, these as phases * wide.  apart: the same group of neighbouring
   columns lies side by side, rather than the groups of a column.  together: the micro-kernel goes over the columns of a
   window and their groups in one run, columns that are side by side.  windows: the channels of a pixel where whole windows
   are packed (ec_pack_windows.h), each the groups of a block.
   element: bytes of what int8 becomes, `shift` more than it was; what lies outside is there, too, as
   zero points.  0: of other types, which have no border. */
typedef struct ec_panel {
    int block, rows, row_stride, column_stride, phases, wide, apart, element, shift, together, windows;
} ec_panel;

/* How the input lies of which rows are packed: `block` channels side by side, then the next
   block_stride behind; `vec` from EC_VL channels of a pixel to the next.  Strides count elements.
   zero: what stands for zero, where it is of int8. */
typedef struct ec_source {
    int as, block, zero;
    ptrdiff_t block_stride, vec, plane, row, pixel;
} ec_source;

/* Kernel positions [from, to) of one axis; none where `to` is not beyond `from`. */
typedef struct ec_taps {
    int from, to;
} ec_taps;

/* Taps k of a kernel with first <= start + k * dilation < end. */
EC_INLINE ec_taps ec_taps_within(int start, int kernel, int dilation, int first, int end)
{
    const ec_taps inside = {.from = start < first ? ec_ceil_div(first - start, dilation) : 0,
                            .to = ec_min_i(kernel, ec_ceil_div(end - start, dilation))};
    return inside;
}

EC_INLINE int ec_taps_count(const ec_taps taps) { return ec_max_i(taps.to - taps.from, 0); }

/* What the windows of output row (z, y) meet: kernel position (0, 0) is at slice z and row y of the
   input, maybe outside; kernel slices kz and kernel rows ky are inside. */
typedef struct ec_rows {
    int z, y;
    ec_taps kz, ky;
} ec_rows;

EC_INLINE ec_rows ec_rows_read(const ec_window window, int z, int y)
{
    const int in_z = z * window.stride_d - window.pad_d, in_y = y * window.stride_h - window.pad_h;
    const ec_rows met = {
        .z = in_z, .y = in_y,
        .kz = ec_taps_within(in_z, window.kernel_d, window.dilation_d, 0, window.in_d),
        .ky = ec_taps_within(in_y, window.kernel_h, window.dilation_h, 0, window.in_h)};
    return met;
}

/* Every kernel position: where a border is in memory. */
EC_INLINE ec_rows ec_rows_whole(const ec_window window)
{
    const ec_rows met = {.kz = {.to = window.kernel_d}, .ky = {.to = window.kernel_h}};
    return met;
}

/* Rows of a channel that memory holds, those of all slices. */
EC_INLINE ptrdiff_t ec_rows_held_in(const ec_window window)
{
    return (ptrdiff_t)window.in_d * (window.in_ring ? window.in_ring : window.in_h);
}
EC_INLINE ptrdiff_t ec_rows_held_out(const ec_window window)
{
    return (ptrdiff_t)window.out_d * (window.out_ring ? window.out_ring : window.out_h);
}

/* Where among these the input's row under kernel slice kz and kernel row ky lies, and output row (z, y). */
EC_INLINE ptrdiff_t ec_row_in(const ec_window window, const ec_rows met, int kz, int ky)
{
    return (ptrdiff_t)(met.z + kz * window.dilation_d) * window.in_h +
           ec_ring(met.y + ky * window.dilation_h, window.in_ring);
}
EC_INLINE ptrdiff_t ec_row_out(const ec_window window, int z, int y)
{
    return (ptrdiff_t)z * window.out_h + ec_ring(y, window.out_ring);
}

#endif
