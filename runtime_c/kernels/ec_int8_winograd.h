/* Winograd convolution of int8 in integers, channels last: what ec_winograd.h calls where words are pairs.

   Transformations have whole factors, so that nothing is rounded: of the input in int16, of filters when
   compiling, of sums in int32 modulo 2^32.  What comes of these is the convolution's sums times a number,
   of which `inverse` takes the odd part, modulo 2^32; the power of two that is left is one of the
   multiplier's places (edgeconv/kernels/algorithms/int8_winograd).

   Needs ec_requantise.h, ec_winograd_spec.h, ec_window.h, ec_int16_<isa>.h and the program's routines on
   integers, without which there is nothing here. */
#ifdef EC_INTEGER_ROUTINES
#ifndef EC_INT8_WINOGRAD_H
#define EC_INT8_WINOGRAD_H

/* Results of a tile in either direction, and vectors of a register tile, at most. */
enum { EC_INT8_WINOGRAD_MADE = 4, EC_INT8_WINOGRAD_VECTORS = 4 };

/* A row of a tile at column x, which may lie outside, of which columns `wide` are inside; n channels that
   begin at row[0], the others whatever they may be. */
EC_INLINE void ec_int8_winograd_row(const ec_winograd spec, const int8_t *row, const ec_taps wide, int x,
                                    int n, ec_hvec *v)
{
    if (ec_taps_count(wide) == spec.taken_w) {
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            v[j] = ec_hload_s8(row + (ptrdiff_t)(x + j) * spec.in_pixel, n);
    } else {
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            v[j] = j < wide.from || j >= wide.to ? ec_hset1(spec.zero)
                                                 : ec_hload_s8(row + (ptrdiff_t)(x + j) * spec.in_pixel, n);
    }
}

/* A tile of n channels that begins at row y and column x, which may lie outside; transformed to `to`,
   position by position with `apart` words from each to the next. */
EC_INLINE void ec_int8_winograd_tile(const ec_winograd spec, const int8_t *in, int n, int y, int x,
                                     float *to, ptrdiff_t apart)
{
    int16_t rows[EC_WINOGRAD_TILE * 2 * EC_VL];
    const ec_taps down = ec_taps_within(y, spec.taken_h, 1, 0, spec.in_h);
    const ec_taps wide = ec_taps_within(x, spec.taken_w, 1, 0, spec.in_w);
    for (int i = 0; i < spec.taken_h; i++) {
        ec_hvec v[EC_WINOGRAD_SIDE];
        if (i < down.from || i >= down.to) {
            EC_UNROLL
            for (int j = 0; j < spec.taken_w; j++)
                v[j] = ec_hset1(spec.zero);
        } else {
            ec_int8_winograd_row(spec, in + (ptrdiff_t)(y + i) * spec.in_w * spec.in_pixel, wide, x, n, v);
        }
        ec_transform_input(spec.in_rows_by, v);
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            ec_hstore(rows + (i * spec.taken_w + j) * 2 * EC_VL, v[j]);
    }
    for (int j = 0; j < spec.taken_w; j++) {
        ec_hvec v[EC_WINOGRAD_SIDE];
        EC_UNROLL
        for (int i = 0; i < spec.taken_h; i++)
            v[i] = ec_hload(rows + (i * spec.taken_w + j) * 2 * EC_VL);
        ec_transform_input(spec.in_columns_by, v);
        EC_UNROLL
        for (int i = 0; i < spec.taken_h; i++)
            ec_hstore(to + (i * spec.taken_w + j) * apart, v[i]);
    }
}

/* Transforms a tile of the input: of as many channels as words have room for, `left` at most. */
EC_INLINE void ec_int8_winograd_input(const ec_winograd spec, const int8_t *in, int left, int y, int x,
                                      float *to, ptrdiff_t apart)
{
    if (left >= 2 * EC_VL) /* a constant */
        ec_int8_winograd_tile(spec, in, 2 * EC_VL, y, x, to, apart);
    else
        ec_int8_winograd_tile(spec, in, left, y, x, to, apart);
}

/* The sums of a tile with a vector of filters, `apart` words from position to position, become results
   before they are requantised, `next` words from each to the next. */
EC_INLINE void ec_int8_winograd_output(const ec_winograd spec, const int32_t *sums, ptrdiff_t apart,
                                       int32_t *results, int next)
{
    int32_t rows[EC_WINOGRAD_TILE * EC_VL];
    for (int j = 0; j < spec.taken_w; j++) {
        ec_ivec v[EC_WINOGRAD_SIDE];
        EC_UNROLL
        for (int i = 0; i < spec.taken_h; i++)
            v[i] = ec_iload(sums + (i * spec.taken_w + j) * apart);
        ec_transform_sums(spec.out_columns_by, v);
        EC_UNROLL
        for (int i = 0; i < spec.made_h; i++)
            ec_istore(rows + (i * spec.taken_w + j) * EC_VL, v[i]);
    }
    for (int i = 0; i < spec.made_h; i++) {
        ec_ivec v[EC_WINOGRAD_SIDE];
        EC_UNROLL
        for (int j = 0; j < spec.taken_w; j++)
            v[j] = ec_iload(rows + (i * spec.taken_w + j) * EC_VL);
        ec_transform_sums(spec.out_rows_by, v);
        EC_UNROLL
        for (int j = 0; j < spec.made_w; j++)
            ec_istore(results + (i * spec.made_w + j) * next,
                      spec.inverse == 1 ? v[j] : ec_imul(v[j], ec_iset1(spec.inverse)));
    }
}

/* The results of the tiles from number `first` on, of nv vectors of filters from number `vector` on. */
EC_INLINE void ec_int8_winograd_outputs(const ec_winograd spec, const ec_winograd_operands operands,
                                        const int32_t *sums, ec_winograd_start start, int image,
                                        int first, int vector, int nv)
{
    const int channel = ec_winograd_channel(spec, vector);
    const int filters = ec_min_i(nv * EC_VL, spec.out_c - vector % spec.vectors * EC_VL);
    const ptrdiff_t apart = (ptrdiff_t)spec.strip * nv * EC_VL;
    for (int tile = 0; tile < ec_min_i(spec.strip, spec.tiles - first); tile++) {
        int32_t results[EC_INT8_WINOGRAD_MADE * EC_INT8_WINOGRAD_MADE * EC_INT8_WINOGRAD_VECTORS * EC_VL];
        const ec_winograd_start at = ec_winograd_at(spec, start, first + tile);
        const int wide = ec_min_i(spec.made_w, spec.out_w - at.x);
        for (int j = 0; j < nv; j++)
            ec_int8_winograd_output(spec, sums + ((ptrdiff_t)tile * nv + j) * EC_VL, apart,
                                    results + j * EC_VL, nv * EC_VL);
        for (int i = 0; i < ec_min_i(spec.made_h, spec.out_h - at.y); i++) {
            const ptrdiff_t pixel = ((ptrdiff_t)image * spec.out_h + at.y + i) * spec.out_w + at.x;
            ec_requantise_tile(spec.requantise, results + i * spec.made_w * nv * EC_VL,
                               operands.multiplier + channel, operands.residual, operands.out,
                               pixel * spec.out_pixel + channel, spec.out_pixel, EC_VL, wide, filters, nv);
        }
    }
}

#endif
#endif
