/* The average of windows of int8.  Needs ec_int8_pool.h, ec_int8_average.h and ec_integers_<isa>.h; without
   that there is nothing here. */
#ifdef EC_INTEGERS_H
#ifndef EC_INT8_POOL_AVERAGE_H
#define EC_INT8_POOL_AVERAGE_H

/* Channels [c, c + n) of `vectors` vectors, n in each, or of one that is not whole. */
EC_INLINE void ec_int8_average_of(const ec_pool *spec, const ec_int8_average by, const ec_int8_window *at,
                                  const int32_t *words, const int8_t *in, int8_t *out, int c, int vectors, int n)
{
    const ptrdiff_t next = (ptrdiff_t)spec->window.dilation_w * spec->channels;
    ec_ivec sums[4], x[4];
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_iset1(0);
    for (int kz = at->met.kz.from; kz < at->met.kz.to; kz++)
        for (int ky = at->met.ky.from; ky < at->met.ky.to; ky++) {
            const int8_t *const row = ec_int8_pool_row(spec, at, in, kz, ky) + c;
            for (int k = at->kx.from; k < at->kx.to; k++) {
                if (vectors == 4)
                    ec_iload_s8_run(row + k * next, x);
                else
                    x[0] = ec_iload_s8(row + k * next, n);
                EC_UNROLL
                for (int j = 0; j < vectors; j++)
                    sums[j] = ec_iadd(sums[j], x[j]);
            }
        }
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_int8_of_window(by, sums[j], words);
    if (vectors == 4)
        ec_istore_s8_run(out + at->at + c, sums, by.low, by.high);
    else
        ec_istore_s8(out + at->at + c, ec_ibetween(sums[0], by.low, by.high), n);
}

EC_INLINE void ec_int8_average_pixel(const ec_pool *spec, const ec_int8_average by, const ec_int8_window *at,
                                     const int32_t *own, const int8_t *in, int8_t *out)
{
    int c = 0;
    for (; c + 4 * EC_VL <= spec->channels; c += 4 * EC_VL)
        ec_int8_average_of(spec, by, at, own, in, out, c, 4, EC_VL);
    for (; c + EC_VL <= spec->channels; c += EC_VL)
        ec_int8_average_of(spec, by, at, own, in, out, c, 1, EC_VL);
    if (c < spec->channels)
        ec_int8_average_of(spec, by, at, own, in, out, c, 1, spec->channels - c);
}

/* Output rows [row0, row1). */
EC_INLINE void ec_int8_pool_average(const ec_pool spec, const ec_int8_average by, const int32_t *words,
                                    const int8_t *in, int8_t *out, int row0, int row1)
{
    for (int i = 0; i < ec_int8_lines(&spec, row0, row1); i++) {
        const ec_int8_line line = ec_int8_line_of(&spec, row0, row1, i);
        const int counted = by.vary ? ec_pool_count_rows(spec, line.met) : 0;
        for (int x = 0; x < spec.window.out_w; x++) {
            const ec_int8_window at = ec_int8_window_of(&spec, line, x);
            const int count = counted ? counted * ec_pool_count_columns(spec, x) : 0;
            ec_int8_average_pixel(&spec, by, &at, words + 2 * count, in + line.image, out);
        }
    }
}

#endif
#endif
