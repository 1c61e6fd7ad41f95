/* Packing whole windows of int8: of every pixel of the output all that its window meets, row after row of it, a pixel's
   channels side by side.  Where the input has few channels a row of the window fills more of its words than each of its
   pixels would.  To the macro-kernel these are the channels of a convolution of 1 x 1.

   Panel: line, pixel, words of its window, of which the last is filled by whatever is there: filters are zero.  Behind it
   the rows of the input that the lines meet, their border with them.  Needs ec_window.h.  Part of ec_pack_rows.h. */
/* What the macro-kernel sees of it. */
EC_INLINE ec_window ec_window_of_one(ec_window window)
{
    window.kernel_d = window.kernel_h = window.kernel_w = 1;
    window.stride_d = window.stride_h = window.stride_w = 1;
    window.dilation_d = window.dilation_h = window.dilation_w = 1;
    window.pad_d = window.pad_h = window.pad_w = 0;
    return window;
}

/* Row iy with its border, n channels of so many columns. */
EC_INLINE void ec_pack_with_border(const ec_window window, const ec_source source, const int8_t *restrict in,
                                   int8_t *restrict to, int iy, int columns, int n)
{
    const int met = iy >= 0 && iy < window.in_h;
    const int lo = met ? ec_min_i(window.pad_w, columns) : columns;
    const int hi = met ? ec_max_i(lo, ec_min_i(window.pad_w + window.in_w, columns)) : columns;
    const int8_t *const from = in + (ptrdiff_t)iy * source.row;
    memset(to, source.zero, (size_t)(lo * n));
    for (int x = 0; x < hi - lo; x++) {
        EC_UNROLL
        for (int c = 0; c < n; c++)
            to[(lo + x) * n + c] = from[x * source.pixel + c / source.block * source.block_stride + c % source.block];
    }
    memset(to + hi * n, source.zero, (size_t)((columns - hi) * n));
}

/* The windows of the lines [from, to), of all channels. */
EC_INLINE void ec_pack_windows(const ec_window window, const ec_panel shape, const ec_source source, const void *in,
                               void *panel, int from, int to)
{
    const int n = shape.windows, run = window.kernel_w * n; /* bytes of a window's row */
    const int columns = (shape.wide - 1) * window.stride_w + window.kernel_w;
    const int rows = (to - from - 1) * window.stride_h + window.kernel_h;
    const ptrdiff_t window_bytes = 4 * (ptrdiff_t)shape.block, row_bytes = (ptrdiff_t)columns * n;
    int8_t *words = panel, *const with_border = words + shape.rows * shape.wide * window_bytes;
    for (int r = 0; r < rows; r++)
        ec_pack_with_border(window, source, in, with_border + r * row_bytes, from * window.stride_h - window.pad_h + r,
                            columns, n);
    for (int line = 0; line < to - from; line++) {
        const int8_t *of = with_border + line * window.stride_h * row_bytes;
        for (int x = 0; x < shape.wide; x++, words += window_bytes, of += window.stride_w * n) {
            EC_UNROLL
            for (int ky = 0; ky < window.kernel_h; ky++)
                memcpy(words + ky * run, of + ky * row_bytes, (size_t)run);
        }
    }
}
