/* Windows of an int8 input, channels last, as panels of three pixels: what ec_int8_tile.h multiplies.

   A panel has for every four numbers of a window, a k-block, those of the three pixels one after the other,
   as int16: 0 and 2, then 1 and 3, which is how SXTB16 takes words apart.  The order of numbers in a window:
   of each kernel row, columns and channels, as many as make whole k-blocks; then what is left of each row.
   The last k-block is filled with zeros.

   Needs ec_int8_channels.h and ec_window.h. */
#ifndef EC_INT8_PANEL_H
#define EC_INT8_PANEL_H

#ifdef EC_INT8_DSP
#include "ec_int8_dsp_tile.h"
#endif

enum { EC_INT8_PIXELS = 3, EC_INT8_K_BLOCK_NUMBERS = 4 * EC_INT8_PIXELS };

/* Where number `at` of a pixel lies in its panel, from that pixel's first k-block. */
EC_INLINE unsigned ec_int8_place(int at)
{
    const unsigned n = (unsigned)at;
    return n / 4 * EC_INT8_K_BLOCK_NUMBERS + n % 2 * 2 + n / 2 % 2;
}

/* Whole k-blocks of `rows` rows, a row's first number `row` elements behind that of the one before. */
EC_INLINE void ec_int8_widen_rows(const int8_t *from, ptrdiff_t row, int rows, int16_t *panel, int k_blocks)
{
    if (k_blocks <= 0)
        return;
#ifdef EC_INT8_DSP
    ec_int8_widen_dsp(from, panel, k_blocks, row - 4 * k_blocks, rows);
#else
    for (; rows > 0; rows--, from += row)
        for (int i = 0; i < k_blocks; i++, panel += EC_INT8_K_BLOCK_NUMBERS) {
            panel[0] = from[4 * i], panel[1] = from[4 * i + 2];
            panel[2] = from[4 * i + 1], panel[3] = from[4 * i + 3];
        }
#endif
}
EC_SHARED void ec_int8_fill_k_blocks(int value, int16_t *panel, int k_blocks)
{
    for (int i = 0; i < k_blocks; i++, panel += EC_INT8_K_BLOCK_NUMBERS)
        panel[0] = panel[1] = panel[2] = panel[3] = (int16_t)value;
}
/* Numbers [at, at + n) of a pixel: of `from`, or `value` where that is NULL. */
EC_INLINE void ec_int8_put(const int8_t *from, int value, int16_t *panel, int at, int n)
{
    for (int i = 0; i < n; i++)
        panel[ec_int8_place(at + i)] = (int16_t)(from ? from[i] : value);
}

/* A convolution over an image with channels last, of one group, whose channels are some of a pixel's, or depthwise.
   Strides count elements.  padding: what lies outside of the input, its zero point. */
typedef struct ec_int8_conv {
    ec_window window;
    int in_c, out_c, padding;
#ifdef EC_ZERO_POINTS
    int sums_of_inputs; /* numbers behind those of a window: see ec_int8_put_sums; 0 where filters have no zero points */
#endif
    ptrdiff_t in_row, in_pixel, out_row, out_pixel;
    ec_int8_result result;
} ec_int8_conv;

EC_INLINE int ec_int8_k_blocks(const ec_int8_conv *spec)
{
    const int numbers = spec->window.kernel_h * spec->window.kernel_w * spec->in_c;
#ifdef EC_ZERO_POINTS
    return ec_ceil_div(numbers + spec->sums_of_inputs, 4);
#else
    return ec_ceil_div(numbers, 4);
#endif
}

#ifdef EC_ZERO_POINTS
/* Behind the numbers of a window its sum, negative, which filters multiply by their zero points: in parts of so many
   k-blocks as int16 holds.  Zeros fill the last k-block. */
enum { EC_INT8_K_BLOCKS_SUMMED = 63 };
EC_SHARED void ec_int8_put_sums(int16_t *panel, unsigned numbers, unsigned sums)
{
    const unsigned k_blocks = (numbers + 3) / 4;
    for (unsigned at = numbers + sums; at % 4 != 0; at++)
        panel[ec_int8_place((int)at)] = 0;
    for (unsigned i = sums; i-- > 0;) { /* the last one first: its k-blocks end where sums begin */
        const unsigned from = i * EC_INT8_K_BLOCKS_SUMMED, end = i + 1 == sums ? k_blocks : from + EC_INT8_K_BLOCKS_SUMMED;
        const int16_t *k_block = panel + from * EC_INT8_K_BLOCK_NUMBERS;
        const int16_t *const last = panel + end * EC_INT8_K_BLOCK_NUMBERS;
        int32_t sum = 0;
        for (; k_block != last; k_block += EC_INT8_K_BLOCK_NUMBERS)
            sum = ec_add_four_inputs(sum, k_block);
        panel[ec_int8_place((int)(numbers + i))] = (int16_t)-sum;
    }
}
#endif

/* The window whose first number is at (in_y, in_x) of the input, where some of it may lie outside or between
   its pixels lie others. */
EC_SHARED void ec_int8_pack_pixels(const ec_int8_conv *spec, const int8_t *in, int padding, int16_t *panel, int in_y,
                                   int in_x)
{
    const ec_window *w = &spec->window;
    const int c = spec->in_c, row = w->kernel_w * c, whole = row / 4 * 4;
    for (int ky = 0; ky < w->kernel_h; ky++) {
        const int at_y = in_y + ky * w->dilation_h;
        const int8_t *const at = in + ec_ring(at_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel;
        for (int kx = 0; kx < w->kernel_w; kx++) {
            const int at_x = in_x + kx * w->dilation_w;
            const int outside = at_y < 0 || at_y >= w->in_h || at_x < 0 || at_x >= w->in_w;
            const int8_t *const from = outside ? NULL : at + kx * w->dilation_w * spec->in_pixel;
            const int k_blocks = ec_min_i(ec_max_i(whole - kx * c, 0), c); /* numbers of the row's whole k-blocks */
            ec_int8_put(from, padding, panel, ky * whole + kx * c, k_blocks);
            ec_int8_put(from ? from + k_blocks : NULL, padding, panel,
                        w->kernel_h * whole + ky * (row - whole) + kx * c + k_blocks - whole, c - k_blocks);
        }
    }
}

/* Packs a window whose pixels are whole k-blocks: pixel by pixel those that lie inside. */
EC_SHARED void ec_int8_pack_apart(const ec_int8_conv *spec, const int8_t *in, int padding, int16_t *panel, int in_y,
                                  int in_x)
{
    const ec_window *w = &spec->window;
    const int k_blocks = spec->in_c / 4, pixel_numbers = k_blocks * EC_INT8_K_BLOCK_NUMBERS;
    const ec_taps columns = ec_taps_within(in_x, w->kernel_w, w->dilation_w, 0, w->in_w);
    const ptrdiff_t apart = w->dilation_w * spec->in_pixel;
    for (int ky = 0; ky < w->kernel_h; ky++, panel += w->kernel_w * pixel_numbers) {
        const int at_y = in_y + ky * w->dilation_h, outside = at_y < 0 || at_y >= w->in_h;
        const int from = outside ? w->kernel_w : ec_min_i(columns.from, w->kernel_w);
        const int end = ec_max_i(outside ? 0 : columns.to, from);
        ec_int8_fill_k_blocks(padding, panel, from * k_blocks);
        ec_int8_fill_k_blocks(padding, panel + end * pixel_numbers, (w->kernel_w - end) * k_blocks);
        if (from < end)
            ec_int8_widen_rows(in + ec_ring(at_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel + from * apart, apart,
                               end - from, panel + from * pixel_numbers, k_blocks);
    }
}

/* Rows of a window some of which lie outside or, in a ring, apart: of every row `read` k-blocks, of the input
   from `at` on, behind `first` of padding. */
EC_SHARED void ec_int8_pack_rows(const ec_int8_conv *spec, const int8_t *at, int padding, int16_t *panel, int in_y,
                                 int first, int read)
{
    const ec_window *w = &spec->window;
    const int row = w->kernel_w * spec->in_c, rest = row % 4, k_blocks = row / 4, after = k_blocks - first - read;
    int16_t *to = panel;
    for (int ky = 0; ky < w->kernel_h; ky++, in_y += w->dilation_h) {
        const int outside = in_y < 0 || in_y >= w->in_h;
        const int8_t *const from = at + (outside ? 0 : ec_ring(in_y, w->in_ring)) * spec->in_row;
        if (outside) {
            ec_int8_fill_k_blocks(padding, to, k_blocks);
        } else {
            ec_int8_fill_k_blocks(padding, to, first);
            ec_int8_widen_rows(from, 0, 1, to + first * EC_INT8_K_BLOCK_NUMBERS, read);
            ec_int8_fill_k_blocks(padding, to + (first + read) * EC_INT8_K_BLOCK_NUMBERS, after);
        }
        to += k_blocks * EC_INT8_K_BLOCK_NUMBERS;
        ec_int8_put(outside ? NULL : from + 4 * k_blocks, padding, panel,
                    4 * k_blocks * w->kernel_h + ky * rest, rest);
    }
}

/* How many of `left` rows of a window, the first of which a ring holds at `at`, lie together: before the ring's end. */
EC_INLINE int ec_int8_rows_before_end(const ec_window *window, int at, int left)
{
    return window->in_ring ? ec_min_i(left, ec_ceil_div(window->in_ring - at, window->dilation_h)) : left;
}

/* Windows of few channels some of whose rows or columns lie outside of the input are copied first, if they are as small. */
enum { EC_INT8_COPIED = 128 };
EC_INLINE int ec_int8_is_copied(const ec_int8_conv *spec, int columns)
{
    const ec_window *w = &spec->window;
    return spec->in_c % 4 && spec->in_pixel == spec->in_c && w->dilation_w == 1 &&
           w->kernel_h * columns * spec->in_c <= EC_INT8_COPIED;
}

/* Of the rows of a window the `columns` from in_x on, one row behind the other, `padding` where there are none. */
EC_SHARED void ec_int8_copy_rows(const ec_int8_conv *spec, const int8_t *in, int padding, int8_t *copy, int in_y, int in_x,
                                 int columns)
{
    const ec_window *w = &spec->window;
    const int c = spec->in_c, n = columns * c, from = ec_max_i(-in_x, 0) * c;
    const int inside = ec_max_i(ec_min_i(w->in_w - in_x, columns) * c - from, 0);
    for (int ky = 0; ky < w->kernel_h; ky++, in_y += w->dilation_h, copy += n) {
        const int is_outside = in_y < 0 || in_y >= w->in_h;
        const unsigned read = is_outside ? 0 : (unsigned)inside;
        const int8_t *row = in + (is_outside ? 0 : ec_ring(in_y, w->in_ring)) * spec->in_row + in_x * c;
        int8_t *to = copy;
        for (int i = -from; i < n - from; i++, row++) {
            int number = padding;
            if ((unsigned)i < read)
                number = *row;
            *to++ = (int8_t)number;
        }
    }
}

/* `rows` of a window from row ky on, all of which lie in the input, `apart` bytes from one to the next. */
EC_INLINE void ec_int8_pack_inside(const ec_int8_conv *spec, const int8_t *from, ptrdiff_t apart, int16_t *panel, int ky,
                                   int rows)
{
    const ec_window *w = &spec->window;
    const int row = w->kernel_w * spec->in_c, rest = row % 4, k_blocks = row / 4;
    ec_int8_widen_rows(from, apart, rows, panel + ky * k_blocks * EC_INT8_K_BLOCK_NUMBERS, k_blocks);
    from += 4 * k_blocks;
    for (int at = 4 * k_blocks * w->kernel_h + ky * rest, r = 0; rest && r < rows; r++, from += apart)
        for (int i = 0; i < rest; i++)
            panel[ec_int8_place(at++)] = from[i];
}

/* The window of output pixel (y, x): a call where all of it lies inside, two where its rows go on at the beginning of a
   ring. */
EC_SHARED void ec_int8_pack_window(const ec_int8_conv *spec, const int8_t *in, int padding, int16_t *panel, int y, int x)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, c = spec->in_c;
    const int row = w->kernel_w * c, k_blocks = row / 4, numbers = w->kernel_h * row;
    const int before = ec_max_i(-in_x, 0) * c, end = ec_min_i(w->kernel_w, w->in_w - in_x) * c;
    const int inside = before == 0 && end == row, height = (w->kernel_h - 1) * w->dilation_h;
    const int is_whole = inside && in_y >= 0 && in_y + height < w->in_h;
    const int ring_y = in_y < 0 ? in_y : ec_ring(in_y, w->in_ring);
    if (numbers % 4)
        ec_int8_fill_k_blocks(0, panel + numbers / 4 * EC_INT8_K_BLOCK_NUMBERS, 1);
    if (!is_whole && ec_int8_is_copied(spec, w->kernel_w)) {
        int8_t copy[EC_INT8_COPIED];
        ec_int8_copy_rows(spec, in, padding, copy, in_y, in_x, w->kernel_w);
        ec_int8_pack_inside(spec, copy, row, panel, 0, w->kernel_h);
    } else if (w->dilation_w > 1 || spec->in_pixel != c || (c % 4 && !inside) || end <= before) {
        if (c % 4)
            ec_int8_pack_pixels(spec, in, padding, panel, in_y, in_x);
        else
            ec_int8_pack_apart(spec, in, padding, panel, in_y, in_x);
    } else if (is_whole) {
        for (int ky = 0, at_y = ring_y, rows; ky < w->kernel_h; ky += rows, at_y += rows * w->dilation_h - w->in_ring) {
            rows = ec_int8_rows_before_end(w, at_y, w->kernel_h - ky);
            ec_int8_pack_inside(spec, in + at_y * spec->in_row + in_x * c, w->dilation_h * spec->in_row, panel, ky, rows);
        }
    } else {
        const int first = before / 4, read = ec_min_i(end / 4, k_blocks) - first;
        ec_int8_pack_rows(spec, in + in_x * c + before, padding, panel, in_y, first, read);
    }
}

/* `count` output pixels from row y on have the input's pixels for windows, or some channels of each, one after the
   other. */
EC_INLINE int ec_int8_is_pointwise(const ec_int8_conv *spec, int count)
{
    const ec_window *w = &spec->window;
    return w->kernel_h == 1 && w->kernel_w == 1 && w->stride_h == 1 && w->stride_w == 1 && !w->pad_h && !w->pad_w &&
           w->out_h == w->in_h && w->out_w == w->in_w && spec->in_c % 4 == 0 &&
           (count <= w->out_w || (!w->in_ring && spec->in_row == w->in_w * spec->in_pixel));
}

/* The last `kept` of a panel's `pixels` become its first ones. */
EC_INLINE void ec_int8_keep_pixels(int16_t *panel, int k_blocks, int pixels, int kept)
{
    const int gone = 4 * (pixels - kept);
    for (int q = 0; q < k_blocks; q++, panel += EC_INT8_K_BLOCK_NUMBERS)
        for (int i = 0; i < 4 * kept; i++)
            panel[i] = panel[gone + i];
}

#ifdef EC_INT8_DSP
/* Rows of two or three windows. */
EC_INLINE void ec_int8_windows_dsp(const ec_int8_windows_job *job, int pixels)
{
    if (pixels == 2)
        ec_int8_pack_2_dsp(job);
    else
        ec_int8_pack_3_dsp(job);
}

/* `rows` of neighbouring windows from row ky on, all of which lie in the input, `apart` bytes from one row to the next. */
EC_INLINE void ec_int8_windows_of(ec_int8_windows_job *job, const ec_int8_conv *spec, const int8_t *from, ptrdiff_t apart,
                                  int16_t *panel, int ky, int rows)
{
    const ec_window *w = &spec->window;
    const int row = w->kernel_w * spec->in_c, rest = row % 4, k_blocks = row / 4;
    const int numbers = w->kernel_h * row, at = 4 * k_blocks * w->kernel_h + ky * rest;
    if (ky == 0 && numbers % 4)
        for (int i = 0; i < EC_INT8_K_BLOCK_NUMBERS; i++)
            panel[numbers / 4 * EC_INT8_K_BLOCK_NUMBERS + i] = 0;
    job->from = from, job->panel = panel + ky * k_blocks * EC_INT8_K_BLOCK_NUMBERS;
    job->k_blocks = k_blocks, job->rest = rest;
    job->apart = w->stride_w * spec->in_c;
    job->rows = rows, job->skip = apart - row;
    job->advances = ec_int8_advances_from(at), job->rest_at = panel + ec_int8_place(at);
}

/* The windows of output pixels (y, x) to (y, x + pixels - 1), two or three, if none has pixels of the input apart and all
   of them lie in the input: whether that is so. */
EC_INLINE int ec_int8_pack_together(const ec_int8_conv *spec, const int8_t *in, int16_t *panel, int y, int x, int pixels)
{
    const ec_window *w = &spec->window;
    const int in_y = y * w->stride_h - w->pad_h, in_x = x * w->stride_w - w->pad_w, c = spec->in_c;
    const int height = (w->kernel_h - 1) * w->dilation_h, columns = (pixels - 1) * w->stride_w + w->kernel_w;
    if (w->dilation_w > 1 || spec->in_pixel != c || in_x < 0 || in_x + columns > w->in_w || in_y < 0 ||
        in_y + height >= w->in_h)
        return 0;
    for (int ky = 0, at_y = ec_ring(in_y, w->in_ring), rows; ky < w->kernel_h;
         ky += rows, at_y += rows * w->dilation_h - w->in_ring) {
        ec_int8_windows_job job;
        rows = ec_int8_rows_before_end(w, at_y, w->kernel_h - ky);
        ec_int8_windows_of(&job, spec, in + at_y * spec->in_row + in_x * c, w->dilation_h * spec->in_row, panel, ky, rows);
        ec_int8_windows_dsp(&job, pixels);
    }
    return 1;
}
#endif

/* The panel of output pixels first, first + apart, ..., two or three, counted from row y on, of which it has
   the first `kept` already.  row: where that row's pixels of the input begin if these are the windows, else
   NULL. */
EC_SHARED void ec_int8_pack_panel(const ec_int8_conv *spec, const int8_t *in, const int8_t *row, int padding,
                                  int16_t *panel, int y, int first, int apart, int kept, int pixels)
{
    const int c = spec->in_c, width = spec->window.out_w;
    int packed = 0;
#ifdef EC_ZERO_POINTS
    const int numbers = spec->window.kernel_h * spec->window.kernel_w * c;
#endif
#ifdef EC_INT8_DSP
    if (apart == 1 && kept == 0) {
        if (row) {
            const ec_int8_windows_job job = {.from = row + first * spec->in_pixel, .panel = panel, .k_blocks = c / 4,
                                             .apart = spec->in_pixel, .rows = 1};
            ec_int8_windows_dsp(&job, pixels);
            packed = 1;
        } else {
            const int below = first / width, x = first - below * width;
            packed = x + pixels <= width && ec_int8_pack_together(spec, in, panel, y + below, x, pixels);
        }
    }
#endif
    panel += 4 * kept;
    for (int p = kept, pixel = first + kept * apart; p < pixels; p++, pixel += apart, panel += 4) {
        if (!packed && row)
            ec_int8_widen_rows(row + pixel * spec->in_pixel, c, 1, panel, c / 4);
        else if (!packed)
            ec_int8_pack_window(spec, in, padding, panel, y + pixel / width, pixel % width);
#ifdef EC_ZERO_POINTS
        if (spec->sums_of_inputs)
            ec_int8_put_sums(panel, (unsigned)numbers, (unsigned)spec->sums_of_inputs);
#endif
    }
}

#endif
