/* Packing on demand of SConv (Ferrari et al., ACM TACO 2023, Section 6): a panel of output pixels
   that follow each other in memory, for every channel and kernel position the input value that each
   of them meets, in the order in which the micro-kernel reads them.

   Panel: [channel][kernel slice, row, column][nv * EC_VL pixels].  A panel crosses the ends of output
   rows; every stretch of one row is packed on its own.  What lies outside the input is written as
   zero here, so that no padded copy of the input exists.  Needs ec_lanes.h and ec_window.h. */
#ifndef EC_PACK_COLUMNS_H
#define EC_PACK_COLUMNS_H

/* Input vectors that stay in registers while they are shifted under the kernel's columns. */
enum { EC_COLUMNS_AT_ONCE = 4 };

/* A stretch of one input row: p is what its first pixel meets at kernel column 0, and [lo, hi) are
   the columns relative to p that lie in the input.  count pixels go to the panel at `to`, where room
   pixels are left in the panel; wide leads to the next kernel column. */
typedef struct ec_stretch {
    const float *p;
    int lo, hi;
    float *to;
    int count, room, wide;
} ec_stretch;

/* The vector at column x of the stretch, zero outside the input. */
EC_INLINE ec_vec ec_columns_read(const ec_stretch stretch, int x)
{
    return stretch.lo <= x && x + EC_VL <= stretch.hi
               ? ec_load(stretch.p + x)
               : ec_load_span(stretch.p + x, stretch.lo - x, stretch.hi - x);
}

/* Pixels from x on, under kernel column kx.  A vector may run over the end of the stretch, where the
   next one will write, but not over the end of the panel's row. */
EC_INLINE void ec_columns_put(const ec_stretch stretch, int kx, int x, ec_vec v)
{
    float *const to = stretch.to + (ptrdiff_t)kx * stretch.wide + x;
    if (stretch.room - x >= EC_VL)
        ec_store(to, v);
    else
        ec_store_n(to, v, ec_min_i(stretch.count - x, EC_VL));
}

/* Stride 1: each input vector is loaded once; what the other kernel columns see of it comes by
   shifting across two registers (vector-based packing, Section 6.2). */
EC_INLINE void ec_columns_shift_row(const ec_stretch stretch, int kernel, int dilation, int vectors)
{
    ec_vec v[EC_COLUMNS_AT_ONCE];
    EC_UNROLL
    for (int i = 0; i < vectors - 1; i++)
        v[i] = ec_columns_read(stretch, i * EC_VL);
    for (int x = 0; x < stretch.count; x += EC_VL) {
        v[vectors - 1] = ec_columns_read(stretch, x + (vectors - 1) * EC_VL);
        EC_UNROLL
        for (int kx = 0; kx < kernel; kx++) {
            const int q = kx * dilation / EC_VL, r = kx * dilation % EC_VL;
            ec_columns_put(stretch, kx, x, r ? ec_shift(v[q], v[q + 1], r) : v[q]);
        }
        EC_UNROLL
        for (int i = 0; i < vectors - 1; i++)
            v[i] = v[i + 1];
    }
}

/* Stride 2: the same on the even and on the odd input columns. */
EC_INLINE void ec_columns_shift_row2(const ec_stretch stretch, int kernel, int dilation, int vectors)
{
    ec_vec even[EC_COLUMNS_AT_ONCE], odd[EC_COLUMNS_AT_ONCE];
    EC_UNROLL
    for (int i = 0; i < vectors - 1; i++)
        ec_deinterleave(ec_columns_read(stretch, 2 * i * EC_VL),
                        ec_columns_read(stretch, (2 * i + 1) * EC_VL), &even[i], &odd[i]);
    for (int x = 0; x < stretch.count; x += EC_VL) {
        const int ahead = 2 * (x + (vectors - 1) * EC_VL);
        ec_deinterleave(ec_columns_read(stretch, ahead), ec_columns_read(stretch, ahead + EC_VL),
                        &even[vectors - 1], &odd[vectors - 1]);
        EC_UNROLL
        for (int kx = 0; kx < kernel; kx++) {
            const int at = kx * dilation, q = at / 2 / EC_VL, r = at / 2 % EC_VL;
            const ec_vec *const v = at % 2 ? odd : even;
            ec_columns_put(stretch, kx, x, r ? ec_shift(v[q], v[q + 1], r) : v[q]);
        }
        EC_UNROLL
        for (int i = 0; i < vectors - 1; i++)
            even[i] = even[i + 1], odd[i] = odd[i + 1];
    }
}

/* Any stride and dilation: every kernel column is gathered on its own. */
EC_INLINE void ec_columns_gather_row(const ec_stretch stretch, int kernel, int dilation, int stride)
{
    for (int kx = 0; kx < kernel; kx++)
        for (int x = 0; x < stretch.count; x += EC_VL) {
            const int at = x * stride + kx * dilation; /* column of lane 0 */
            const int lo = ec_max_i(ec_ceil_div(stretch.lo - at, stride), 0);
            const int hi = ec_min_i(ec_ceil_div(stretch.hi - at, stride), EC_VL);
            ec_vec v;
            if (stride == 1) {
                v = ec_columns_read(stretch, at);
            } else if (lo == 0) {
                v = ec_load_strided(stretch.p + at, stride, ec_max_i(hi, 0));
            } else {
                float lanes[EC_VL];
                for (int i = 0; i < EC_VL; i++)
                    lanes[i] = i >= lo && i < hi ? stretch.p[at + i * stride] : 0.0f;
                v = ec_load(lanes);
            }
            ec_columns_put(stretch, kx, x, v);
        }
}

/* The kernel columns of one stretch.  outside: the whole row lies in the padding. */
EC_INLINE void ec_columns_pack_row(const ec_window window, const ec_stretch stretch, int outside)
{
    const int reach = (window.kernel_w - 1) * window.dilation_w / window.stride_w;
    const int vectors = (reach + EC_VL - 1) / EC_VL + 1;
    if (outside) {
        for (int kx = 0; kx < window.kernel_w; kx++)
            for (int x = 0; x < stretch.count; x += EC_VL)
                ec_columns_put(stretch, kx, x, ec_set1(0.0f));
    } else if (window.stride_w == 1 && EC_VL > 1 && vectors <= EC_COLUMNS_AT_ONCE) {
        ec_columns_shift_row(stretch, window.kernel_w, window.dilation_w, vectors);
    } else if (window.stride_w == 2 && EC_VL > 1 && vectors <= EC_COLUMNS_AT_ONCE) {
        ec_columns_shift_row2(stretch, window.kernel_w, window.dilation_w, vectors);
    } else {
        ec_columns_gather_row(stretch, window.kernel_w, window.dilation_w, window.stride_w);
    }
}

/* A 1x1 kernel at stride 1 that keeps the size of the image, so that nothing is padded either: every
   output pixel meets the input's at its own place.  As many pixels as before are not enough, for
   padding may add as many as a stride leaves out. */
EC_INLINE int ec_columns_pointwise(const ec_window window)
{
    return window.kernel_d == 1 && window.kernel_h == 1 && window.kernel_w == 1 &&
           window.stride_d == 1 && window.stride_h == 1 && window.stride_w == 1 &&
           window.in_d == window.out_d && window.in_h == window.out_h && window.in_w == window.out_w;
}

/* The pixels of a pointwise convolution are the input's own: a plain copy. */
EC_INLINE void ec_columns_copy(const float *in, ptrdiff_t plane, int channels, int count, float *panel,
                             int nv)
{
    for (int c = 0; c < channels; c++, in += plane, panel += nv * EC_VL) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            ec_store(panel + j * EC_VL,
                     count >= (j + 1) * EC_VL
                         ? ec_load(in + j * EC_VL)
                         : ec_load_n(in + j * EC_VL, ec_max_i(count - j * EC_VL, 0)));
    }
}

/* Output pixels [first, first + nv * EC_VL) of `channels` channels from `in` on; zeros after the last
   pixel of the image. */
EC_INLINE void ec_pack_columns(const ec_window window, const float *in, int channels, int first,
                             float *panel, int nv)
{
    const int wide = nv * EC_VL, pixels = window.out_d * window.out_h * window.out_w;
    const int count = ec_min_i(wide, pixels - first);
    const ptrdiff_t plane = (ptrdiff_t)window.in_d * window.in_h * window.in_w;
    if (ec_columns_pointwise(window)) {
        ec_columns_copy(in + first, plane, channels, count, panel, nv);
        return;
    }
    const int x0 = first % window.out_w, y0 = first / window.out_w % window.out_h;
    const int z0 = first / window.out_w / window.out_h;
    for (int c = 0; c < channels; c++, in += plane)
        for (int kz = 0; kz < window.kernel_d; kz++)
            for (int ky = 0; ky < window.kernel_h; ky++, panel += window.kernel_w * wide) {
                int x = x0, y = y0, z = z0;
                for (int at = 0, n; at < count; at += n) {
                    const int iz = z * window.stride_d - window.pad_d + kz * window.dilation_d;
                    const int iy = y * window.stride_h - window.pad_h + ky * window.dilation_h;
                    const int ix = x * window.stride_w - window.pad_w;
                    const int outside = iz < 0 || iz >= window.in_d || iy < 0 || iy >= window.in_h;
                    n = ec_min_i(window.out_w - x, count - at);
                    const ec_stretch stretch = {
                        .p = in + ((ptrdiff_t)iz * window.in_h + iy) * window.in_w + ix,
                        .lo = -ix, .hi = window.in_w - ix,
                        .to = panel + at, .count = n, .room = wide - at, .wide = wide};
                    ec_columns_pack_row(window, stretch, outside);
                    x = 0;
                    if (++y == window.out_h)
                        y = 0, z++;
                }
                for (int kx = 0; count < wide && kx < window.kernel_w; kx++)
                    memset(panel + kx * wide + count, 0, (size_t)(wide - count) * sizeof *panel);
            }
}

#endif
