/* The average of windows of int8 or int16.  Needs ec_integer_pool.h, ec_int8_average.h and ec_integers_<isa>.h;
   without that there is nothing here.  What sums of int16, or results that are, become needs ec_int16_scaling.h. */
#ifdef EC_INTEGERS_H
#ifndef EC_INTEGER_POOL_AVERAGE_H
#define EC_INTEGER_POOL_AVERAGE_H

/* Adds to the sums of `vectors` vectors the numbers from `met` on, n in each vector. */
EC_INLINE void ec_integer_average_add(int bytes, const void *met, ec_ivec *sums, int vectors, int n)
{
    ec_ivec x[4];
    if (EC_VL == 1)
        EC_UNKNOWN(met); /* or GCC 12 makes vectors of these bytes, and wrong sums */
    if (bytes == 2) {
        EC_UNROLL
        for (int j = 0; j < vectors; j++)
            x[j] = ec_iload_s16((const int16_t *)met + j * EC_VL, n);
    } else if (vectors == 4) {
        ec_iload_s8_run(met, x);
    } else {
        x[0] = ec_iload_s8(met, n);
    }
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_iadd(sums[j], x[j]);
}

/* What becomes of these sums, from number `at` of out on. */
EC_INLINE void ec_integer_average_put(const ec_int8_average by, ec_ivec *sums, const int32_t *words, void *out,
                                      ptrdiff_t at, int vectors, int n)
{
#ifdef EC_INT16_SCALING_H
    if (by.wide.bytes) {
        int32_t each[4 * EC_VL];
        const int of_sum = by.scaling >= EC_INT8_WIDE;
        for (int j = 0; j < vectors; j++)
            ec_istore(each + j * EC_VL,
                      of_sum ? sums[j] : ec_ibetween(ec_int8_of_window(by, sums[j], words), by.low, by.high));
        if (by.scaling == EC_INT8_WIDE_AWAY)
            for (int i = 0; i < (vectors - 1) * EC_VL + n; i++)
                each[i] = 2 * each[i] - (each[i] < 0);
        for (int i = 0; i < (vectors - 1) * EC_VL + n; i++)
            ec_int16_put(out, by.wide.bytes, at + i, of_sum ? ec_int16_of_sum(by.wide, each[i], words, 1) : each[i]);
        return;
    }
#endif
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_int8_of_window(by, sums[j], words);
    if (vectors == 4)
        ec_istore_s8_run((int8_t *)out + at, sums, by.low, by.high);
    else
        ec_istore_s8((int8_t *)out + at, ec_ibetween(sums[0], by.low, by.high), n);
}

/* Channels [c, c + n) of `vectors` vectors, n in each, or of one that is not whole. */
EC_INLINE void ec_integer_average_of(const ec_pool *spec, const ec_int8_average by, const ec_integer_window *at,
                                     const int32_t *words, const void *in, void *out, int c, int vectors, int n)
{
    const ptrdiff_t next = (ptrdiff_t)spec->window.dilation_w * spec->channels;
    const int bytes = ec_int8_average_bytes(by);
    ec_ivec sums[4];
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sums[j] = ec_iset1(0);
    for (int kz = at->met.kz.from; kz < at->met.kz.to; kz++)
        for (int ky = at->met.ky.from; ky < at->met.ky.to; ky++) {
            const char *const row = (const char *)in + (ec_integer_pool_at(spec, at, kz, ky) + c) * bytes;
            for (int k = at->kx.from; k < at->kx.to; k++)
                ec_integer_average_add(bytes, row + k * next * bytes, sums, vectors, n);
        }
    ec_integer_average_put(by, sums, words, out, at->at + c, vectors, n);
}

EC_INLINE void ec_integer_average_pixel(const ec_pool *spec, const ec_int8_average by, const ec_integer_window *at,
                                        const int32_t *own, const void *in, void *out)
{
    int c = 0;
    for (; spec->channels - c >= 4 * EC_VL; c += 4 * EC_VL)
        ec_integer_average_of(spec, by, at, own, in, out, c, 4, EC_VL);
    for (; spec->channels - c >= EC_VL; c += EC_VL)
        ec_integer_average_of(spec, by, at, own, in, out, c, 1, EC_VL);
    if (c < spec->channels)
        ec_integer_average_of(spec, by, at, own, in, out, c, 1, spec->channels - c);
}

/* Output rows [row0, row1). */
EC_INLINE void ec_integer_pool_average(const ec_pool spec, const ec_int8_average by, const int32_t *words,
                                       const void *in, void *out, int row0, int row1)
{
    const int bytes = ec_int8_average_bytes(by), apart = by.scaling >= EC_INT8_WIDE ? 4 : 2;
    for (int i = 0; i < ec_integer_lines(&spec, row0, row1); i++) {
        const ec_integer_line line = ec_integer_line_of(&spec, row0, row1, i);
        const int counted = by.vary ? ec_pool_count_rows(spec, line.met) : 0;
        for (int x = 0; x < spec.window.out_w; x++) {
            const ec_integer_window at = ec_integer_window_of(&spec, line, x);
            const int count = counted ? counted * ec_pool_count_columns(spec, x) : 0;
            ec_integer_average_pixel(&spec, by, &at, words + apart * count, (const char *)in + line.image * bytes, out);
        }
    }
}

#endif
#endif
