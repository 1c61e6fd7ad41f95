/* Products of packed rows by filters that have zero points: w = (q - zero[channel]) * unit[channel], of which q is
   multiplied.  So a sum starts with what it starts with, less the zero point times the sum of the window's inputs.
   Those are summed pixel by pixel, then window by window, once for all filters.
   Needs ec_gemm_spec.h, and ec_integers_<isa>.h; without that there is nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_GEMM_AROUND_H
#define EC_GEMM_AROUND_H

/* Pixels of a line. */
EC_INLINE int ec_gemm_line_pixels(const ec_gemm spec)
{
    return spec.pixels.count * spec.pixels.wide + spec.pixels.rest * spec.pixels.narrow;
}

/* Pixels of a row of the input that windows of a line meet, and rows that those of `lines` do: as in the panel. */
EC_INLINE int ec_gemm_columns_met(const ec_gemm spec, const ec_window window)
{
    const int reach = (ec_gemm_line_pixels(spec) - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w;
    return reach / spec.panel.column_stride + 1;
}
EC_INLINE int ec_gemm_rows_met(const ec_gemm spec, const ec_window window, int lines)
{
    const int reach = (lines - 1) * window.stride_h + (window.kernel_h - 1) * window.dilation_h;
    return reach / spec.panel.row_stride + 1;
}

/* The sum of n channels of a pixel from number c on, as the panel has them. */
EC_INLINE int32_t ec_sum_of_channels(const ec_source source, const int8_t *pixel, int c, int n)
{
    int32_t sum = 0;
    if (c % source.block + n <= source.block) {
        const int8_t *const first = pixel + c / source.block * source.block_stride + c % source.block;
        int i = 0;
#ifdef EC_SUMS_SIXTEEN
        for (; i + 16 <= n; i += 16)
            sum += ec_isum_s8_sixteen(first + i);
#endif
        for (; i < n; i++)
            sum += first[i];
    } else {
        for (int i = c; i < c + n; i++)
            sum += pixel[i / source.block * source.block_stride + i % source.block];
    }
    return sum;
}

/* Sums of the pixels that the lines [from, to) of slice z meet: by slice, row and column. */
EC_INLINE void ec_gemm_sum_pixels(const ec_gemm spec, const ec_window window, const ec_channel_set set, int32_t *sums,
                                  int z, int from, int to)
{
    const int columns = ec_gemm_columns_met(spec, window), rows = ec_gemm_rows_met(spec, window, to - from);
    const int32_t shift = set.n * spec.panel.shift, outside = set.n * spec.in.zero + shift;
    const int8_t *const in = set.in;
    for (int kz = 0; kz < window.kernel_d; kz++)
        for (int r = 0; r < rows; r++, sums += columns) {
            const int iz = z * window.stride_d - window.pad_d + kz * window.dilation_d;
            const int iy = from * window.stride_h - window.pad_h + r * spec.panel.row_stride;
            const int met = iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h;
            for (int i = 0; i < columns; i++) {
                const int ix = i * spec.panel.column_stride - window.pad_w;
                const ptrdiff_t at = iz * spec.in.plane + iy * spec.in.row + ix * spec.in.pixel;
                sums[i] = met && ix >= 0 && ix < window.in_w
                              ? ec_sum_of_channels(spec.in, in + at, set.c, set.n) + shift : outside;
            }
        }
}

/* Sums of the windows of the lines [from, to) of slice z, line by line.  pixels: room for ec_gemm_sum_pixels, which is
   the same where the kernel is 1 x 1 x 1. */
EC_NEST void ec_gemm_sum_windows(const ec_gemm spec, const ec_window window, const ec_channel_set set, int32_t *sums,
                                 int32_t *pixels, int z, int from, int to)
{
    const int columns = ec_gemm_columns_met(spec, window), rows = ec_gemm_rows_met(spec, window, to - from);
    const int wide = ec_gemm_line_pixels(spec);
    ec_gemm_sum_pixels(spec, window, set, pixels, z, from, to);
    for (int line = 0; pixels != sums && line < to - from; line++, sums += wide) {
        for (int x = 0; x < wide; x++)
            sums[x] = 0;
        for (int kz = 0; kz < window.kernel_d; kz++)
            for (int ky = 0; ky < window.kernel_h; ky++)
                for (int kx = 0; kx < window.kernel_w; kx++) {
                    const int row = (line * window.stride_h + ky * window.dilation_h) / spec.panel.row_stride;
                    const int32_t *const of = pixels + (kz * rows + row) * columns;
                    for (int x = 0; x < wide; x++)
                        sums[x] += of[(x * window.stride_w + kx * window.dilation_w) / spec.panel.column_stride];
                }
    }
}

/* The sums of `pixels` rows of nv vectors, less zero points times inputs. */
EC_INLINE void ec_gemm_add_around(int32_t *words, const ec_gemm_line here, int column, int pixels, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_ivec by_sum = ec_iload(here.by_sum + j * EC_VL);
        EC_NO_UNROLL
        for (int p = 0; p < pixels; p++) {
            int32_t *const at = words + (p * nv + j) * EC_VL;
            ec_istore(at, ec_iadd(ec_iload(at), ec_imul(by_sum, ec_iset1(here.inputs[column + p]))));
        }
    }
}

/* Whether sums start with that; else it is added to them. */
EC_INLINE int ec_gemm_starts_around(const ec_gemm spec)
{
#ifdef EC_MEMORY_SUMS
    if (ec_row_in_memory(spec.micro_kernel))
        return 0;
#endif
    return spec.sums_at && !spec.requantise.asked;
}

/* What the sums of a tile start with: `pixels` rows, and the last one again up to mr, of nv vectors. */
EC_INLINE void ec_gemm_start_around(const ec_gemm spec, ec_sums *tile, const ec_gemm_line here, int column, int pixels,
                                    int mr, int nv)
{
    int32_t words[EC_TILE_VECS * EC_VL];
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_ivec start = ec_iload(here.start + j * EC_VL), by_sum = ec_iload(here.by_sum + j * EC_VL);
        EC_UNROLL
        for (int p = 0; p < mr; p++) {
            const ec_ivec inputs = ec_iset1(here.inputs[column + ec_min_i(p, pixels - 1)]);
            ec_istore(words + (p * nv + j) * EC_VL, ec_iadd(start, ec_imul(by_sum, inputs)));
        }
    }
    ec_row_load(spec.micro_kernel, tile, words, mr, nv);
}

#endif
#endif
