/* Linear interpolation of int8, channels side by side, as int32 sums with weights that are whole numbers.
   Needs ec_resize_sizes.h, ec_int8_average.h and ec_integers_<isa>.h; without that there is nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_INT8_RESIZE_H
#define EC_INT8_RESIZE_H

/* The tables of the three dimensions follow each other: tap t of output position i at [t * size + i]. */
typedef struct ec_int8_resize_taps {
    const int32_t *index_d, *index_h, *index_w, *weight_d, *weight_h, *weight_w;
} ec_int8_resize_taps;

/* Channels [c, c + n) of `vectors` vectors of the pixel z, y, x, n in each, or of one that is not whole. */
EC_INLINE void ec_int8_resize_of(const ec_resize spec, const ec_int8_average by, const ec_int8_resize_taps taps,
                                 const int32_t *words, const int8_t *in, int8_t *out, int z, int y, int x, int lanes,
                                 int c, int vectors, int n)
{
    ec_ivec sums[4], q[4];
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_iset1(0);
    for (int tz = 0; tz < spec.taps_d; tz++)
        for (int ty = 0; ty < spec.taps_h; ty++) {
            const int dz = tz * spec.out_d + z, dy = ty * spec.out_h + y;
            const ptrdiff_t row = ((ptrdiff_t)taps.index_d[dz] * spec.in_h + taps.index_h[dy]) * spec.in_w;
            for (int tx = 0; tx < spec.taps_w; tx++) {
                const int dx = tx * spec.out_w + x;
                const ec_ivec weight = ec_iset1(taps.weight_d[dz] * taps.weight_h[dy] * taps.weight_w[dx]);
                const int8_t *const from = in + (row + taps.index_w[dx]) * lanes + c;
                if (vectors == 4)
                    ec_iload_s8_run(from, q);
                else
                    q[0] = ec_iload_s8(from, n);
                EC_UNROLL
                for (int j = 0; j < vectors; j++)
                    sums[j] = ec_iadd(sums[j], ec_imul(q[j], weight));
            }
        }
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_int8_of_window(by, sums[j], words);
    if (vectors == 4)
        ec_istore_s8_run(out + c, sums, by.low, by.high);
    else
        ec_istore_s8(out + c, ec_ibetween(sums[0], by.low, by.high), n);
}

/* Images of `lanes` channels; taps: indices of all dimensions, then weights of all. */
EC_INLINE void ec_int8_resize(const ec_resize spec, const ec_int8_average by, const int32_t *words,
                              const int32_t *taps, const int8_t *in, int8_t *out, int outer, int lanes)
{
    const int h = spec.taps_d * spec.out_d, w = h + spec.taps_h * spec.out_h, all = w + spec.taps_w * spec.out_w;
    const ec_int8_resize_taps split = {
        .index_d = taps, .index_h = taps + h, .index_w = taps + w,
        .weight_d = taps + all, .weight_h = taps + all + h, .weight_w = taps + all + w,
    };
    const ptrdiff_t image = (ptrdiff_t)spec.in_d * spec.in_h * spec.in_w * lanes;
    for (int i = 0; i < outer * spec.out_d * spec.out_h; i++) {
        const int y = i % spec.out_h, z = i / spec.out_h % spec.out_d;
        const int8_t *const from = in + i / (spec.out_h * spec.out_d) * image;
        for (int x = 0; x < spec.out_w; x++, out += lanes) {
            int c = 0;
            for (; c + 4 * EC_VL <= lanes; c += 4 * EC_VL)
                ec_int8_resize_of(spec, by, split, words, from, out, z, y, x, lanes, c, 4, EC_VL);
            for (; c < lanes; c += EC_VL)
                ec_int8_resize_of(spec, by, split, words, from, out, z, y, x, lanes, c, 1, ec_min_i(EC_VL, lanes - c));
        }
    }
}

#endif
#endif
