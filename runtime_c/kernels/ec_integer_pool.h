/* What pooling of int8 and int16 shares, channels side by side (NHWC).  Needs ec_pool_op.h. */
#ifndef EC_INTEGER_POOL_H
#define EC_INTEGER_POOL_H

/* What the windows of an output pixel meet, and where the pixel is in out. */
typedef struct ec_integer_window {
    ec_rows met;
    ec_taps kx;
    int ix;
    ptrdiff_t at;
} ec_integer_window;

/* Output row i of rows [row0, row1) of all images: the first channel of its image in memory, and its number among
   the rows of the output there. */
typedef struct ec_integer_line {
    ec_rows met;
    ptrdiff_t image, row;
} ec_integer_line;

EC_INLINE int ec_integer_lines(const ec_pool *spec, int row0, int row1)
{
    return spec->images * spec->window.out_d * (row1 - row0);
}

EC_INLINE ec_integer_line ec_integer_line_of(const ec_pool *spec, int row0, int row1, int i)
{
    const ec_window window = spec->window;
    const int rows = row1 - row0, y = row0 + i % rows, z = i / rows % window.out_d;
    const int image = i / (rows * window.out_d);
    const ec_integer_line line = {.met = ec_rows_read(window, z, y),
                               .image = image * ec_rows_held_in(window) * window.in_w * spec->channels,
                               .row = image * ec_rows_held_out(window) + ec_row_out(window, z, y)};
    return line;
}

EC_INLINE ec_integer_window ec_integer_window_of(const ec_pool *spec, const ec_integer_line line, int x)
{
    const ec_window window = spec->window;
    ec_integer_window found = {.met = line.met, .ix = x * window.stride_w - window.pad_w,
                            .at = (line.row * window.out_w + x) * spec->channels};
    found.kx = ec_taps_within(found.ix, window.kernel_w, window.dilation_w, 0, window.in_w);
    return found;
}

/* Where the pixel under kernel position (kz, ky, 0) lies: how many channels behind the first of its image. */
EC_INLINE ptrdiff_t ec_integer_pool_at(const ec_pool *spec, const ec_integer_window *at, int kz, int ky)
{
    return (ec_row_in(spec->window, at->met, kz, ky) * spec->window.in_w + at->ix) * spec->channels;
}
EC_INLINE const int8_t *ec_integer_pool_row(const ec_pool *spec, const ec_integer_window *at, const int8_t *in, int kz,
                                            int ky)
{
    return in + ec_integer_pool_at(spec, at, kz, ky);
}

#endif
