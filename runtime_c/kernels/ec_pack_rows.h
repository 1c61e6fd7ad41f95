/* Packing rows of pixels: what a chunk of output rows meets of the input in any layout, its border
   with it, so that any stride and padding looks alike to the micro-kernel.  Elements are rounded to
   bfloat16, or int8 as the micro-kernel wants them, by what the ISA offers in ec_bfloat16_<isa>.h and
   ec_int8_<isa>.h; without either there is nothing here.

   Panel, in words of k channels, a group: block of channels, kernel slice, row, and then column and
   group, or the other way round where the same group of neighbouring pixels lies side by side (apart).
   Needs ec_lanes.h and ec_window.h. */
#if defined(EC_PACKS_PAIRS) || defined(EC_INT8_H)
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
    int fills = lo > 0 || hi < columns;
#ifdef EC_MEMORY_SUMS
    fills |= few < whole; /* up to a multiple of steps */
#endif
    if (fills)
        memset(to, 0, (size_t)ec_panel_row(shape) * sizeof *to);
    if (few == whole) /* a constant */
        ec_bf16_pack(to, in, source.as, at, next, stride, whole, shape.block, lo, hi, shape.phases,
                     shape.wide);
    else
        ec_bf16_pack(to, in, source.as, at, next, stride, few, shape.block, lo, hi, shape.phases,
                     shape.wide);
}
#endif

#ifdef EC_INT8_H
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define EC_BYTE_OF_WORD(j) (24 - 8 * (j)) /* from where on byte j of memory counts, in bits */
#else
#define EC_BYTE_OF_WORD(j) (8 * (j))
#endif
#define EC_FOUR_BYTES 0x01010101u /* times a byte: four of it */

/* n bytes, each `shift` more. */
EC_INLINE void ec_pack_bytes(uint8_t *restrict to, const int8_t *restrict in, int n, int shift)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(in[i] + shift);
}

EC_INLINE void ec_pack_halves(int16_t *restrict to, const int8_t *restrict in, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = in[i];
}

/* n elements from number `at` on. */
EC_INLINE void ec_pack_elements(const ec_panel shape, void *to, ptrdiff_t at, const int8_t *in, int n)
{
    if (shape.element == 1)
        ec_pack_bytes((uint8_t *)to + at, in, n, shape.shift);
    else
        ec_pack_halves((int16_t *)to + at, in, n);
}

/* Packs n elements that stand for zero. */
EC_INLINE void ec_pack_zeros(const ec_panel shape, void *to, ptrdiff_t at, int n, int zero)
{
    if (shape.element == 1) {
        uint8_t *const bytes = (uint8_t *)to + at;
        for (int i = 0; i < n; i++)
            bytes[i] = (uint8_t)(zero + shape.shift);
    } else {
        int16_t *const halves = (int16_t *)to + at;
        for (int i = 0; i < n; i++)
            halves[i] = (int16_t)zero;
    }
}

/* Columns [lo, hi) of a phase lie in the input, none of a row outside; of it column 0 meets column x0,
   and each of them the next `every` further. */
typedef struct ec_phase {
    int x0, every, lo, hi;
} ec_phase;

EC_INLINE ec_phase ec_phase_of(const ec_window window, const ec_panel shape, int phase, int iz, int iy)
{
    const int x0 = phase * shape.column_stride - window.pad_w, every = shape.phases * shape.column_stride;
    const int met = iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h;
    const int lo = met ? ec_min_i(ec_max_i(0, ec_ceil_div(-x0, every)), shape.wide) : shape.wide;
    const int hi = met ? ec_min_i(ec_max_i(lo, ec_ceil_div(window.in_w - x0, every)), shape.wide) : lo;
    return (ec_phase){.x0 = x0, .every = every, .lo = lo, .hi = hi};
}

/* Blocks of one column after the other, of which n channels from number c on lie side by side in the input.
   Zero points where iy or iz are outside. */
EC_INLINE void ec_pack_together(const ec_window window, const ec_panel shape, const ec_source source,
                                const int8_t *in, uint32_t *to, int iz, int iy, int c, int n)
{
    const int whole = 4 / shape.element * shape.block;
    const ec_phase phase = ec_phase_of(window, shape, 0, iz, iy);
    const ptrdiff_t next = phase.every * source.pixel;
    const ptrdiff_t at = iz * source.plane + iy * source.row + c / source.block * source.block_stride +
                         c % source.block + phase.x0 * source.pixel;
    int i = 0;
    for (; i < phase.lo; i++)
        ec_pack_zeros(shape, to, (ptrdiff_t)i * whole, whole, source.zero);
    if (n == whole && next == whole && shape.wide > 1 && i < phase.hi) { /* columns are side by side there, too */
        ec_pack_elements(shape, to, (ptrdiff_t)i * whole, in + at + i * next, (phase.hi - i) * whole);
        i = phase.hi;
    }
    for (; i < phase.hi; i++) {
        ec_pack_elements(shape, to, (ptrdiff_t)i * whole, in + at + i * next, n);
        ec_pack_zeros(shape, to, (ptrdiff_t)i * whole + n, whole - n, source.zero);
    }
    for (; i < shape.wide; i++)
        ec_pack_zeros(shape, to, (ptrdiff_t)i * whole, whole, source.zero);
}

/* Words of n channels, four at most, `apart` elements from one to the next; those of column 0 would
   begin at in[at]. */
EC_INLINE void ec_pack_words(const ec_panel shape, const ec_phase phase, const ec_source source,
                             const int8_t *in, ptrdiff_t at, ptrdiff_t apart, uint32_t *to, int n)
{
    const ptrdiff_t next = phase.every * source.pixel;
    int i = phase.lo;
#ifdef EC_PACKS_PLANES
    for (; next == 1 && !shape.shift && i + 16 <= phase.hi; i += 16)
        ec_s8_pack_planes(to + i, in + at + i, apart, n, source.zero);
#endif
    for (; i < phase.hi; i++) {
        const int8_t *const from = in + at + i * next;
        uint32_t word = (uint8_t)source.zero * EC_FOUR_BYTES;
        if (n == 4 && apart == 1)
            memcpy(&word, from, 4);
        else
            EC_UNROLL
            for (int j = 0; j < n; j++) {
                const uint32_t byte = (uint8_t)from[j * apart];
                word = (word & ~(0xffu << EC_BYTE_OF_WORD(j))) | byte << EC_BYTE_OF_WORD(j);
            }
        to[i] = word ^ (uint32_t)shape.shift * EC_FOUR_BYTES; /* 128 more, or as it is */
    }
}

#ifdef EC_PACKS_SIXTEENS
/* Whole sixteens of n channels, which lie side by side, as ec_pack_words.  Where columns are left over
   the last four are packed, in part once more.  How many channels that were. */
EC_INLINE int ec_pack_sixteens(const ec_phase phase, const ec_source source, const int8_t *in,
                               ptrdiff_t at, uint32_t *to, ptrdiff_t columns, int n)
{
    const int whole = phase.hi - phase.lo >= 4 ? n / 16 * 16 : 0;
    const ptrdiff_t next = phase.every * source.pixel;
    for (int c = 0; c < whole; c += 16) {
        EC_NO_UNROLL
        for (int i = phase.lo; i < phase.hi; i += 4) {
            const int first = ec_min_i(i, phase.hi - 4);
            ec_s8_pack_sixteen(to + c / 4 * columns + first, columns, in + at + first * next + c, next);
        }
    }
    return whole;
}
#endif

/* Packs channel k-blocks: four channels of all columns side by side, of n at most from number c on.  These lie side
   by side in the input, or, where they are four at most, anywhere.  Zero points where iy or iz are outside. */
EC_INLINE void ec_pack_apart(const ec_window window, const ec_panel shape, const ec_source source,
                             const int8_t *in, uint32_t *to, int iz, int iy, int c, int n)
{
    const ptrdiff_t columns = (ptrdiff_t)shape.phases * shape.wide;
    const uint32_t outside = (uint8_t)(source.zero + shape.shift) * EC_FOUR_BYTES;
    const int few = ec_min_i(4 * shape.block, n);
    const ptrdiff_t apart = source.block > 1 ? 1 : source.block_stride;
    const ptrdiff_t at = iz * source.plane + iy * source.row + c / source.block * source.block_stride +
                         c % source.block;
    for (int p = 0; p < shape.phases; p++, to += shape.wide) {
        const ec_phase phase = ec_phase_of(window, shape, p, iz, iy);
        const ptrdiff_t first = at + phase.x0 * source.pixel;
        int done = 0;
#ifdef EC_PACKS_SIXTEENS
        if (apart == 1)
            done = ec_pack_sixteens(phase, source, in, first, to, columns, few);
#endif
        for (int j = 0; j < few; j += 4) {
            uint32_t *const words = to + j / 4 * columns;
            for (int i = 0; i < phase.lo; i++)
                words[i] = outside;
            if (j >= done && few - j >= 4) /* a constant */
                ec_pack_words(shape, phase, source, in, first + j * apart, apart, words, 4);
            else if (j >= done)
                ec_pack_words(shape, phase, source, in, first + j * apart, apart, words, few - j);
            for (int i = phase.hi; i < shape.wide; i++)
                words[i] = outside;
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
                if (!shape.element && iz >= 0 && iz < window.in_d && iy >= 0 && iy < window.in_h)
                    ec_pack_pairs(window, shape, source, in, to, iz, iy, c, whole * block, n);
#endif
#ifdef EC_INT8_H
                if (shape.element == 1 && (shape.apart || shape.block == 1))
                    ec_pack_apart(window, shape, source, in, to, iz, iy, c + whole * block, n - whole * block);
                else if (shape.element && (n % whole == 0 || block < n / whole)) /* constants, either way */
                    ec_pack_together(window, shape, source, in, to, iz, iy, c + whole * block, whole);
                else if (shape.element)
                    ec_pack_together(window, shape, source, in, to, iz, iy, c + whole * block, n % whole);
#endif
            }
        }
}

#ifdef EC_PACKED_WINDOWS
#include "ec_pack_windows.h"
#endif

#endif
#endif
