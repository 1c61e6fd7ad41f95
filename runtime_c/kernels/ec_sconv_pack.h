/* Packing on demand for SConv (Ferrari et al., ACM TACO 2023, Section 6): a panel of output pixels
   that follow each other in memory, for every channel and kernel position the input value that each
   of them meets, in the order in which the micro-kernel reads them.

   Panel: [channel][kernel slice, row, column][nv * EC_VL pixels].  A panel crosses the ends of output
   rows; every stretch of one row is packed on its own.  What lies outside the input is written as
   zero here, so that no padded copy of the input exists.  Needs ec_lanes.h. */
#ifndef EC_SCONV_PACK_H
#define EC_SCONV_PACK_H

/* Constants at the call; sizes in pixels.  Input and output are NCHW. */
typedef struct ec_sconv {
    int in_d, in_h, in_w;
    int out_d, out_h, out_w;
    int kernel_d, kernel_h, kernel_w;
    int stride_d, stride_h, stride_w;
    int dilation_d, dilation_h, dilation_w;
    int pad_d, pad_h, pad_w; /* before the first slice, row, column */
} ec_sconv;

/* Input vectors that stay in registers while they are shifted under the kernel's columns. */
enum { EC_SCONV_WINDOW = 4 };

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
EC_INLINE ec_vec ec_sconv_read(const ec_stretch t, int x)
{
    return t.lo <= x && x + EC_VL <= t.hi ? ec_load(t.p + x)
                                          : ec_load_span(t.p + x, t.lo - x, t.hi - x);
}

/* Pixels from x on, under kernel column kx.  A vector may run over the end of the stretch, where the
   next one will write, but not over the end of the panel's row. */
EC_INLINE void ec_sconv_put(const ec_stretch t, int kx, int x, ec_vec v)
{
    float *const to = t.to + (ptrdiff_t)kx * t.wide + x;
    if (t.room - x >= EC_VL)
        ec_store(to, v);
    else
        ec_store_n(to, v, ec_min_i(t.count - x, EC_VL));
}

/* Stride 1: each input vector is loaded once; what the other kernel columns see of it comes by
   shifting across two registers (vector-based packing, Section 6.2). */
EC_INLINE void ec_sconv_shift_row(const ec_stretch t, int kernel, int dilation, int vectors)
{
    ec_vec v[EC_SCONV_WINDOW];
    EC_UNROLL
    for (int i = 0; i < vectors - 1; i++)
        v[i] = ec_sconv_read(t, i * EC_VL);
    for (int x = 0; x < t.count; x += EC_VL) {
        v[vectors - 1] = ec_sconv_read(t, x + (vectors - 1) * EC_VL);
        EC_UNROLL
        for (int kx = 0; kx < kernel; kx++) {
            const int q = kx * dilation / EC_VL, r = kx * dilation % EC_VL;
            ec_sconv_put(t, kx, x, r ? ec_shift(v[q], v[q + 1], r) : v[q]);
        }
        EC_UNROLL
        for (int i = 0; i < vectors - 1; i++)
            v[i] = v[i + 1];
    }
}

/* Stride 2: the same on the even and on the odd input columns. */
EC_INLINE void ec_sconv_shift_row2(const ec_stretch t, int kernel, int dilation, int vectors)
{
    ec_vec even[EC_SCONV_WINDOW], odd[EC_SCONV_WINDOW];
    EC_UNROLL
    for (int i = 0; i < vectors - 1; i++)
        ec_deinterleave(ec_sconv_read(t, 2 * i * EC_VL), ec_sconv_read(t, (2 * i + 1) * EC_VL),
                        &even[i], &odd[i]);
    for (int x = 0; x < t.count; x += EC_VL) {
        const int ahead = 2 * (x + (vectors - 1) * EC_VL);
        ec_deinterleave(ec_sconv_read(t, ahead), ec_sconv_read(t, ahead + EC_VL),
                        &even[vectors - 1], &odd[vectors - 1]);
        EC_UNROLL
        for (int kx = 0; kx < kernel; kx++) {
            const int at = kx * dilation, q = at / 2 / EC_VL, r = at / 2 % EC_VL;
            const ec_vec *const v = at % 2 ? odd : even;
            ec_sconv_put(t, kx, x, r ? ec_shift(v[q], v[q + 1], r) : v[q]);
        }
        EC_UNROLL
        for (int i = 0; i < vectors - 1; i++)
            even[i] = even[i + 1], odd[i] = odd[i + 1];
    }
}

/* Any stride and dilation: every kernel column is gathered on its own. */
EC_INLINE void ec_sconv_gather_row(const ec_stretch t, int kernel, int dilation, int stride)
{
    for (int kx = 0; kx < kernel; kx++)
        for (int x = 0; x < t.count; x += EC_VL) {
            const int at = x * stride + kx * dilation; /* column of lane 0 */
            const int lo = ec_max_i(ec_ceil_div(t.lo - at, stride), 0);
            const int hi = ec_min_i(ec_ceil_div(t.hi - at, stride), EC_VL);
            ec_vec v;
            if (stride == 1) {
                v = ec_sconv_read(t, at);
            } else if (lo == 0) {
                v = ec_load_strided(t.p + at, stride, ec_max_i(hi, 0));
            } else {
                float lanes[EC_VL];
                for (int i = 0; i < EC_VL; i++)
                    lanes[i] = i >= lo && i < hi ? t.p[at + i * stride] : 0.0f;
                v = ec_load(lanes);
            }
            ec_sconv_put(t, kx, x, v);
        }
}

/* The kernel columns of one stretch.  outside: the whole row lies in the padding. */
EC_INLINE void ec_sconv_pack_row(const ec_sconv s, const ec_stretch t, int outside)
{
    const int reach = (s.kernel_w - 1) * s.dilation_w / s.stride_w;
    const int vectors = (reach + EC_VL - 1) / EC_VL + 1;
    if (outside) {
        for (int kx = 0; kx < s.kernel_w; kx++)
            for (int x = 0; x < t.count; x += EC_VL)
                ec_sconv_put(t, kx, x, ec_set1(0.0f));
    } else if (s.stride_w == 1 && EC_VL > 1 && vectors <= EC_SCONV_WINDOW) {
        ec_sconv_shift_row(t, s.kernel_w, s.dilation_w, vectors);
    } else if (s.stride_w == 2 && EC_VL > 1 && vectors <= EC_SCONV_WINDOW) {
        ec_sconv_shift_row2(t, s.kernel_w, s.dilation_w, vectors);
    } else {
        ec_sconv_gather_row(t, s.kernel_w, s.dilation_w, s.stride_w);
    }
}

/* A 1x1 kernel at stride 1 that keeps the size of the image, so that nothing is padded either: every
   output pixel meets the input's at its own place.  As many pixels as before are not enough, for
   padding may add as many as a stride leaves out. */
EC_INLINE int ec_sconv_pointwise(const ec_sconv s)
{
    return s.kernel_d == 1 && s.kernel_h == 1 && s.kernel_w == 1 &&
           s.stride_d == 1 && s.stride_h == 1 && s.stride_w == 1 &&
           s.in_d == s.out_d && s.in_h == s.out_h && s.in_w == s.out_w;
}

/* The pixels of a pointwise convolution are the input's own: a plain copy. */
EC_INLINE void ec_sconv_copy(const float *in, ptrdiff_t plane, int channels, int count, float *panel,
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
EC_INLINE void ec_sconv_pack(const ec_sconv s, const float *in, int channels, int first,
                             float *panel, int nv)
{
    const int wide = nv * EC_VL, pixels = s.out_d * s.out_h * s.out_w;
    const int count = ec_min_i(wide, pixels - first);
    const ptrdiff_t plane = (ptrdiff_t)s.in_d * s.in_h * s.in_w;
    if (ec_sconv_pointwise(s)) {
        ec_sconv_copy(in + first, plane, channels, count, panel, nv);
        return;
    }
    const int x0 = first % s.out_w, y0 = first / s.out_w % s.out_h;
    const int z0 = first / s.out_w / s.out_h;
    for (int c = 0; c < channels; c++, in += plane)
        for (int kz = 0; kz < s.kernel_d; kz++)
            for (int ky = 0; ky < s.kernel_h; ky++, panel += s.kernel_w * wide) {
                int x = x0, y = y0, z = z0;
                for (int at = 0, n; at < count; at += n) {
                    const int iz = z * s.stride_d - s.pad_d + kz * s.dilation_d;
                    const int iy = y * s.stride_h - s.pad_h + ky * s.dilation_h;
                    const int ix = x * s.stride_w - s.pad_w;
                    const int outside = iz < 0 || iz >= s.in_d || iy < 0 || iy >= s.in_h;
                    n = ec_min_i(s.out_w - x, count - at);
                    const ec_stretch t = {
                        in + ((ptrdiff_t)iz * s.in_h + iy) * s.in_w + ix, -ix, s.in_w - ix,
                        panel + at, n, wide - at, wide};
                    ec_sconv_pack_row(s, t, outside);
                    x = 0;
                    if (++y == s.out_h)
                        y = 0, z++;
                }
                for (int kx = 0; count < wide && kx < s.kernel_w; kx++)
                    memset(panel + kx * wide + count, 0, (size_t)(wide - count) * sizeof *panel);
            }
}

#endif
