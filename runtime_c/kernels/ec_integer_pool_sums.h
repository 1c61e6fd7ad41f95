/* The average of all pixels of an image, int8 or int16, whose rows come one after the other.  Needs
   ec_integer_pool_average.h; without that there is nothing here. */
#ifdef EC_INTEGER_POOL_AVERAGE_H
#ifndef EC_INTEGER_POOL_SUMS_H
#define EC_INTEGER_POOL_SUMS_H

/* Adds `pixels` pixels from `pixel` on to the sums of `vectors` vectors, n channels in each. */
EC_INLINE void ec_integer_sums_add(int bytes, const char *pixel, int pixels, int channels, int32_t *sums, int vectors,
                                   int n)
{
    ec_ivec sum[4];
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sum[j] = ec_iload(sums + j * EC_VL);
    for (int x = 0; x < pixels; x++)
        ec_integer_average_add(bytes, pixel + (ptrdiff_t)x * channels * bytes, sum, vectors, n);
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        ec_istore(sums + j * EC_VL, sum[j]);
}

/* What becomes of the sums of these vectors, from channel c on. */
EC_INLINE void ec_integer_sums_put(const ec_int8_average by, const int32_t *words, const int32_t *sums, void *out,
                                   int c, int vectors, int n)
{
    ec_ivec sum[4];
    EC_UNROLL
    for (int j = 0; j < vectors; j++)
        sum[j] = ec_iload(sums + c + j * EC_VL);
    ec_integer_average_put(by, sum, words, out, c, vectors, n);
}

/* Rows [row0, row1) of the image, of each the columns [x0, x1), of which memory holds `pitch` in a row, the first of
   these at its beginning.  sums: one per channel, rounded up to whole vectors; they begin with the image's first pixel,
   and its last one makes out of them what is asked. */
EC_INLINE void ec_integer_pool_sums(const ec_pool spec, const ec_int8_average by, const int32_t *words, const void *in,
                                    int32_t *sums, void *out, int pitch, int x0, int x1, int row0, int row1)
{
    const int bytes = ec_int8_average_bytes(by), channels = spec.channels;
    const ptrdiff_t row_bytes = (ptrdiff_t)pitch * channels * bytes;
    if (row0 == 0 && x0 == 0)
        for (int c = 0; c < channels; c += EC_VL)
            ec_istore(sums + c, ec_iset1(0));
    for (int y = row0; y < row1; y++) {
        const char *const row = (const char *)in + ec_ring(y, spec.window.in_ring) * row_bytes;
        int c = 0;
        for (; channels - c >= 4 * EC_VL; c += 4 * EC_VL)
            ec_integer_sums_add(bytes, row + c * bytes, x1 - x0, channels, sums + c, 4, EC_VL);
        for (; channels - c >= EC_VL; c += EC_VL)
            ec_integer_sums_add(bytes, row + c * bytes, x1 - x0, channels, sums + c, 1, EC_VL);
        if (c < channels)
            ec_integer_sums_add(bytes, row + c * bytes, x1 - x0, channels, sums + c, 1, channels - c);
    }
    if (row1 == spec.window.in_h && x1 == spec.window.in_w) {
        int c = 0;
        for (; channels - c >= 4 * EC_VL; c += 4 * EC_VL)
            ec_integer_sums_put(by, words, sums, out, c, 4, EC_VL);
        for (; channels - c >= EC_VL; c += EC_VL)
            ec_integer_sums_put(by, words, sums, out, c, 1, EC_VL);
        if (c < channels)
            ec_integer_sums_put(by, words, sums, out, c, 1, channels - c);
    }
}

#endif
#endif
