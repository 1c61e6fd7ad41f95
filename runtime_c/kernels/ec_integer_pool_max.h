/* The maximum of windows of int8 or int16.  Needs ec_integer_pool.h and ec_bytes_<isa>.h; without that there is
   nothing here.  Channels of the ec_pool are counted in bytes here: `bytes` of them are a number. */
#ifdef EC_BYTES_H
#ifndef EC_INTEGER_POOL_MAX_H
#define EC_INTEGER_POOL_MAX_H

/* A vector of bytes, or an int16 where that has but one. */
#if EC_BYTES == 1
EC_INLINE ec_bvec ec_bmax_s16(ec_bvec a, ec_bvec b) { return ec_bmax(a, b); } /* not of one byte */
#endif
EC_INLINE ec_bvec ec_integer_larger(ec_bvec a, ec_bvec b, int bytes)
{
    return bytes == 2 ? ec_bmax_s16(a, b) : ec_bmax(a, b);
}
EC_INLINE ec_bvec ec_integer_lowest(int bytes)
{
    int8_t lowest[EC_BYTES];
    EC_UNROLL
    for (int i = 0; i < EC_BYTES; i++)
        lowest[i] = bytes == 2 && i % 2 == 0 ? 0 : INT8_MIN; /* the upper byte of a number is the second one */
    return ec_bload(lowest);
}

/* n bytes of channels from byte c on, a vector at most. */
EC_INLINE void ec_integer_max_of(const ec_pool *spec, int bytes, const ec_integer_window *at, const int8_t *in,
                                 int8_t *out, int c, int n)
{
    const ptrdiff_t next = (ptrdiff_t)spec->window.dilation_w * spec->channels;
    ec_bvec most = ec_integer_lowest(bytes);
    int16_t alone = INT16_MIN;
    for (int kz = at->met.kz.from; kz < at->met.kz.to; kz++)
        for (int ky = at->met.ky.from; ky < at->met.ky.to; ky++) {
            const int8_t *const row = ec_integer_pool_row(spec, at, in, kz, ky) + c;
            for (int k = at->kx.from; k < at->kx.to; k++)
                if (n > EC_BYTES)
                    alone = (int16_t)ec_max_i(alone, *(const int16_t *)(const void *)(row + k * next));
                else
                    most = ec_integer_larger(
                        most, n == EC_BYTES ? ec_bload(row + k * next) : ec_bload_first(row + k * next, n), bytes);
        }
    if (n > EC_BYTES)
        *(int16_t *)(void *)(out + at->at + c) = alone;
    else if (n == EC_BYTES)
        ec_bstore(out + at->at + c, most);
    else
        ec_bstore_first(out + at->at + c, most, n);
}

EC_INLINE void ec_integer_max_pixel(const ec_pool *spec, int bytes, const ec_integer_window *at, const int8_t *in,
                                    int8_t *out)
{
    const int whole = ec_max_i(EC_BYTES, bytes);
    int c = 0;
    for (; c + whole <= spec->channels; c += whole)
        ec_integer_max_of(spec, bytes, at, in, out, c, whole);
    if (c < spec->channels)
        ec_integer_max_of(spec, bytes, at, in, out, c, spec->channels - c);
}

/* Output rows [row0, row1). */
EC_INLINE void ec_integer_pool_max(const ec_pool spec, int bytes, const void *in, void *out, int row0, int row1)
{
    for (int i = 0; i < ec_integer_lines(&spec, row0, row1); i++) {
        const ec_integer_line line = ec_integer_line_of(&spec, row0, row1, i);
        for (int x = 0; x < spec.window.out_w; x++) {
            const ec_integer_window at = ec_integer_window_of(&spec, line, x);
            ec_integer_max_pixel(&spec, bytes, &at, (const int8_t *)in + line.image, out);
        }
    }
}

#endif
#endif
