/* Packing rows of pixels: what a chunk of output rows meets of the input in any layout, its border
   with it, so that any stride and padding looks alike to the micro-kernel.  Elements are rounded to
   bfloat16, or int8 as the micro-kernel wants them, by what the ISA offers in ec_bfloat16_<isa>.h and
   ec_int8_<isa>.h; without either there is nothing here.

   Panel, in words of k channels, a group: block of channels, kernel slice, row, and then column and
   group, or the other way round where the same group of neighbouring pixels lies side by side (apart).
   Needs ec_lanes.h and ec_window.h. */
#if defined(EC_PACKS_PAIRS) || defined(EC_S8_SHIFT)
#ifndef EC_PACK_ROWS_H
#define EC_PACK_ROWS_H

/* Words of one row of a block. */
EC_INLINE ptrdiff_t ec_panel_row(const ec_panel shape)
{
    return (ptrdiff_t)shape.block * shape.phases * shape.wide;
}

#ifdef EC_PACKS_PAIRS
/* Row iy of slice iz, from channel c0 of the n that begin with number c of the input. */
EC_INLINE void ec_pack_pairs(const ec_window window, const ec_panel shape, const ec_source source,
                           const void *in, uint32_t *to, int iz, int iy, int c, int c0, int n)
{
    const int columns = shape.phases * shape.wide, first = c + c0;
    const int whole = 2 * shape.block, few = ec_min_i(whole, n - c0);
    const int lo = ec_ceil_div(window.pad_w, shape.column_stride);
    const int hi = ec_min_i(columns, ec_ceil_div(window.in_w + window.pad_w, shape.column_stride));
    const ptrdiff_t at = first / source.block * source.block_stride + first % source.block +
                         iz * source.plane + iy * source.row +
                         ((ptrdiff_t)lo * shape.column_stride - window.pad_w) * source.pixel;
    const ptrdiff_t next = at + source.vec, stride = shape.column_stride * source.pixel;
    if (lo > 0 || hi < columns)
        memset(to, 0, (size_t)ec_panel_row(shape) * sizeof *to);
    if (few == whole) /* a constant */
        ec_bf16_pack(to, in, source.as, at, next, stride, whole, shape.block, lo, hi, shape.phases,
                     shape.wide);
    else
        ec_bf16_pack(to, in, source.as, at, next, stride, few, shape.block, lo, hi, shape.phases,
                     shape.wide);
}
#endif

#ifdef EC_S8_SHIFT
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define EC_BYTE_OF_WORD(j) (24 - 8 * (j)) /* from where on byte j of memory counts, in bits */
#else
#define EC_BYTE_OF_WORD(j) (8 * (j))
#endif

/* `of` channels of a pixel: n of the input, then some that stand for zero. */
EC_INLINE void ec_s8_pack(ec_s8_element *to, const int8_t *in, int n, int of, int zero)
{
    for (int i = 0; i < n; i++)
        to[i] = (ec_s8_element)(in[i] + EC_S8_SHIFT);
    for (int i = n; i < of; i++)
        to[i] = (ec_s8_element)(zero + EC_S8_SHIFT);
}

/* A word for a pixel of n channels, four at most, from number c on, wherever these lie: side by side,
   or each in a plane of its own.  Zero points where iy or iz are outside. */
EC_INLINE void ec_pack_words(const ec_window window, const ec_panel shape, const ec_source source,
                             const int8_t *in, uint32_t *to, int iz, int iy, int c, int n)
{
    const int met = iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h;
    const int every = shape.phases * shape.column_stride; /* columns of the input from word to word */
    const uint32_t outside = (uint8_t)(source.zero + EC_S8_SHIFT) * 0x01010101u;
    for (int phase = 0; phase < shape.phases; phase++, to += shape.wide) {
        const int x0 = phase * shape.column_stride - window.pad_w;
        const int lo = met ? ec_max_i(0, ec_ceil_div(-x0, every)) : shape.wide;
        const int hi = met ? ec_min_i(ec_max_i(lo, ec_ceil_div(window.in_w - x0, every)), shape.wide) : lo;
        const int8_t *const from = in + iz * source.plane + iy * source.row + (ptrdiff_t)x0 * source.pixel;
        for (int i = 0; i < ec_min_i(lo, shape.wide); i++)
            to[i] = outside;
        for (int i = lo; i < hi; i++) {
            uint32_t word = outside;
            EC_UNROLL
            for (int j = 0; j < n; j++) {
                const ptrdiff_t channel = (c + j) / source.block * source.block_stride + (c + j) % source.block;
                const uint8_t byte = (uint8_t)(from[(ptrdiff_t)i * every * source.pixel + channel] + EC_S8_SHIFT);
                word = (word & ~(0xffu << EC_BYTE_OF_WORD(j))) | (uint32_t)byte << EC_BYTE_OF_WORD(j);
            }
            to[i] = word;
        }
        for (int i = hi; i < shape.wide; i++)
            to[i] = outside;
    }
}

/* The same, zero points where iy or iz are outside.  The channels of a run (all of a block, or a group
   where these are apart) lie side by side in the input. */
EC_INLINE void ec_pack_bytes(const ec_window window, const ec_panel shape, const ec_source source,
                             const int8_t *in, ec_s8_element *to, int iz, int iy, int c, int c0, int n)
{
    const int k = 4 / (int)sizeof *to, whole = k * shape.block, run = shape.apart ? k : whole;
    const int columns = shape.phases * shape.wide;
    const int met = iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h;
    for (int i = 0; i < columns; i++) {
        const int ix = i * shape.column_stride - window.pad_w;
        const int few = met && ix >= 0 && ix < window.in_w ? ec_min_i(whole, n - c0) : 0;
        const int place = i % shape.phases * shape.wide + i / shape.phases;
        for (int r = 0; r < whole; r += run) {
            const int first = c + c0 + r, count = ec_max_i(ec_min_i(run, few - r), 0);
            const ptrdiff_t at = iz * source.plane + iy * source.row + ix * source.pixel +
                                 first / source.block * source.block_stride + first % source.block;
            ec_s8_element *const put = to + (ptrdiff_t)place * run + (ptrdiff_t)r * columns;
            if (count == run) /* a constant */
                ec_s8_pack(put, in + at, run, run, source.zero);
            else
                ec_s8_pack(put, count ? in + at : in, count, run, source.zero);
        }
    }
}
#endif

/* What the output rows [y0, y1) of slice z meet of n channels from number c on, `few` of which make
   a group. */
EC_INLINE void ec_pack_rows(const ec_window window, const ec_panel shape, const ec_source source,
                            const void *in, uint32_t *panel, int few, int z, int y0, int y1, int c, int n)
{
    const int reach = (y1 - 1 - y0) * window.stride_h + (window.kernel_h - 1) * window.dilation_h;
    const int last = reach / shape.row_stride, whole = few * shape.block;
    const int blocks = ec_ceil_div(n, whole);
    const ptrdiff_t slice = shape.rows * ec_panel_row(shape);
    for (int block = 0; block < blocks; block++)
        for (int kz = 0; kz < window.kernel_d; kz++) {
            const int iz = z * window.stride_d - window.pad_d + kz * window.dilation_d;
            uint32_t *to = panel + (block * window.kernel_d + kz) * slice;
            for (int r = 0; r <= last; r++, to += ec_panel_row(shape)) {
                const int iy = y0 * window.stride_h - window.pad_h + r * shape.row_stride;
#ifdef EC_PACKS_PAIRS /* of rows outside nothing is read */
                if (!shape.border && iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h)
                    ec_pack_pairs(window, shape, source, in, to, iz, iy, c, whole * block, n);
#endif
#ifdef EC_S8_SHIFT
                if (shape.border && sizeof(ec_s8_element) == 1 && n <= few)
                    ec_pack_words(window, shape, source, in, to, iz, iy, c, n);
                else if (shape.border)
                    ec_pack_bytes(window, shape, source, in, (ec_s8_element *)(void *)to, iz, iy, c,
                                  whole * block, n);
#endif
            }
        }
}

#endif
#endif
