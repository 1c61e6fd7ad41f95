/* Depthwise convolutions of int8, channels last, whose windows are so close that a pair of numbers serves two of them: of
   output rows y and y + 1, whose windows begin in neighbouring rows of the input, the pairs (0, 1), (2, 3), ... of rows.
   Under the first window lie filters (0, 1), (2, 3), ..., under the second (-, 0), (1, 2), ...

   With dilation that is so of rows and columns of one remainder: a lattice, of which windows have neighbouring numbers.
   Blocks of output rows are computed four channels at a time: those numbers of the input that the windows of a lattice read
   are taken to a panel, pairs of rows side by side for each column.  Needs ec_int8_rows.h. */
#ifndef EC_INT8_2X2_H
#define EC_INT8_2X2_H

/* Output rows y, y + down.every, ..., `rows` of them, and columns x, x + across.every, ..., `columns` of these.
   pairs: of rows, in every one of `read` columns of the panel, of which those `inside` lie in the input.  row: of the
   input, of a kernel of 3x3.  Of an input of one column the pairs of which some row lies in it, and both. */
typedef struct ec_int8_lattice {
    ec_int8_side_by_side down, across;
    int y, x, rows, columns, pairs, read;
    ec_taps inside, some, both;
    const int8_t *row[8];
} ec_int8_lattice;

/* Rows of the output of a lattice that are computed together, and of 3x3 those of the input that a column of a panel has. */
enum { EC_INT8_2X2_READ = 4, EC_INT8_6X2_ROWS = 6, EC_INT8_6X2_READ = 8 };
enum { EC_INT8_2X2_ROWS = 2, EC_INT8_2X2_ROWS_TALL = 8, EC_INT8_2X2_ROWS_ALONE = 16, EC_INT8_2X2_ROWS_APART = 12 };

/* Output rows of a lattice that are computed together: of windows of one column more, whose pairs are read more often, and
   still more of a tensor of one column, where nothing else is computed at a time. */
EC_INLINE int ec_int8_2x2_rows(const ec_window *window)
{
    if (ec_int8_is_column(window))
        return ec_max_i(EC_INT8_2X2_ROWS_ALONE / ec_int8_beside(window->stride_h, window->dilation_h).every,
                        EC_INT8_2X2_ROWS_APART);
    return window->kernel_w == 1 ? EC_INT8_2X2_ROWS_TALL : EC_INT8_2X2_ROWS;
}

/* Pairs of rows that so many output rows read, of which the last one may be without another. */
EC_INLINE int ec_int8_2x2_pairs(int rows, int kernel) { return ec_ceil_div(rows + rows % 2 + kernel - 1, 2); }

/* int16 of a panel of so many output rows of a lattice. */
EC_INLINE int ec_int8_2x2_numbers(const ec_window *window, int rows)
{
    const int every = ec_int8_beside(window->stride_h, window->dilation_h).every;
    const int most = ec_min_i(rows, ec_ceil_div(window->out_h, every));
    return 8 * ec_int8_2x2_pairs(most, window->kernel_h) * (ec_int8_columns_taken(window) + 1);
}

/* The input row of number i of a lattice; those that no window has are the last one that some window has. */
EC_INLINE const int8_t *ec_int8_2x2_row(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                        const int8_t *outside, int i)
{
    const ec_window *w = &spec->window;
    const int last = of->rows + w->kernel_h - 2;
    return ec_int8_row_at(spec, in, outside, of->y * w->stride_h - w->pad_h + ec_min_i(i, last) * w->dilation_h);
}

/* Of `n` parts of a panel, `numbers` each, those outside of the input become padding. */
EC_INLINE ec_taps ec_int8_2x2_pad(int padding, int16_t *panel, ec_taps inside, int n, int numbers)
{
    inside.from = ec_min_i(inside.from, n);
    inside.to = ec_max_i(inside.to, inside.from);
    for (int i = 0; i < inside.from * numbers; i++)
        panel[i] = (int16_t)padding;
    for (int i = inside.to * numbers; i < n * numbers; i++)
        panel[i] = (int16_t)padding;
    return inside;
}

/* What of a lattice lies in the input; what does not is padding. */
EC_INLINE void ec_int8_2x2_inside(const ec_int8_conv *spec, ec_int8_lattice *of, int16_t *panel)
{
    const ec_window *w = &spec->window;
    const int in_y = of->y * w->stride_h - w->pad_h, in_x = of->x * w->stride_w - w->pad_w, pair = 2 * w->dilation_h;
    const ec_taps columns = ec_taps_within(in_x, of->read, w->dilation_w, 0, w->in_w);
    of->inside = ec_int8_2x2_pad(spec->padding, panel, columns, of->read, 8 * of->pairs);
    if (!ec_int8_is_column(w))
        return;
    const ec_taps some = ec_taps_within(in_y + w->dilation_h, of->pairs, pair, 0, w->in_h + w->dilation_h);
    of->some = ec_int8_2x2_pad(spec->padding, panel, some, of->pairs, 8);
    of->both = ec_int8_rows_inside(w, in_y, of->pairs, pair, w->dilation_h);
}

/* What a kernel does for a lattice: takes numbers to the panel, four channels at a time, and multiplies them by `words` of
   these channels, to `out`: bytes, or what says where real numbers go. */
typedef void ec_int8_2x2_kernel(const ec_int8_conv *spec, const ec_int8_lattice *of, const int8_t *in,
                                const int8_t *outside, const int32_t *words, int16_t *panel, void *out);

/* int16 of a panel of windows of 3x3 with so many rows of the input. */
EC_INLINE int ec_int8_3x3_numbers(const ec_window *window, int read) { return 4 * read * (ec_int8_columns_taken(window) + 1); }

/* Rows [row0, row1) of the output, `together` of a lattice at a time.  read: rows of the input that a panel of windows of 3x3 has,
   0 of other kernels, where it is as many as are needed.  workspace: a panel (ec_int8_3x3_numbers, ec_int8_2x2_numbers); then a
   row of the input's size outside of it, unless no window reaches there. */
EC_INLINE void ec_int8_2x2_blocks(const ec_int8_conv *spec, const int8_t *in, const int32_t *channels, void *out,
                                  int16_t *workspace, int row0, int row1, int together, int read,
                                  ec_int8_2x2_kernel *kernel)
{
    const ec_window *w = &spec->window;
    ec_int8_lattice of = {.down = ec_int8_beside(w->stride_h, w->dilation_h),
                          .across = ec_int8_beside(w->stride_w, w->dilation_w)};
    const int block = together * of.down.every, across = ec_min_i(of.across.every, w->out_w);
    int8_t *const outside = (int8_t *)(workspace + (read ? ec_int8_3x3_numbers(w, read) : ec_int8_2x2_numbers(w, together)));
    ec_int8_pad_row(spec, spec->padding, outside, row0, row1);
    for (int from = row0; from < row1; from += block) {
        const int end = ec_min_i(from + block, row1);
        for (of.y = from; of.y < ec_min_i(from + of.down.every, end); of.y++) {
            of.rows = ec_ceil_div(end - of.y, of.down.every);
            of.pairs = read ? read / 2 : ec_int8_2x2_pairs(of.rows, w->kernel_h);
            for (int i = 0; i < read; i++)
                of.row[i] = ec_int8_2x2_row(spec, &of, in, outside, i);
            for (of.x = 0; of.x < across; of.x++) {
                of.columns = ec_ceil_div(w->out_w - of.x, of.across.every);
                of.read = (of.columns - 1) * of.across.stride + w->kernel_w;
                ec_int8_2x2_inside(spec, &of, workspace);
                kernel(spec, &of, in, outside, channels, workspace, out);
            }
        }
    }
}

#endif
