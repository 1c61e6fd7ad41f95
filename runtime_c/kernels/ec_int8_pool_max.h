/* The maximum of windows of int8.  Needs ec_int8_pool.h and ec_bytes_<isa>.h; without that there is
   nothing here. */
#ifdef EC_BYTES_H
#ifndef EC_INT8_POOL_MAX_H
#define EC_INT8_POOL_MAX_H

/* n channels from c on, a vector at most. */
EC_INLINE void ec_int8_max_of(const ec_pool *spec, const ec_int8_window *at, const int8_t *in, int8_t *out, int c,
                              int n)
{
    const ptrdiff_t next = (ptrdiff_t)spec->window.dilation_w * spec->channels;
    int8_t lowest[EC_BYTES];
    memset(lowest, INT8_MIN, EC_BYTES);
    ec_bvec most = ec_bload(lowest);
    for (int kz = at->met.kz.from; kz < at->met.kz.to; kz++)
        for (int ky = at->met.ky.from; ky < at->met.ky.to; ky++) {
            const int8_t *const row = ec_int8_pool_row(spec, at, in, kz, ky) + c;
            for (int k = at->kx.from; k < at->kx.to; k++)
                most = ec_bmax(most, n == EC_BYTES ? ec_bload(row + k * next) : ec_bload_first(row + k * next, n));
        }
    if (n == EC_BYTES)
        ec_bstore(out + at->at + c, most);
    else
        ec_bstore_first(out + at->at + c, most, n);
}

EC_INLINE void ec_int8_max_pixel(const ec_pool *spec, const ec_int8_window *at, const int8_t *in, int8_t *out)
{
    int c = 0;
    for (; c + EC_BYTES <= spec->channels; c += EC_BYTES)
        ec_int8_max_of(spec, at, in, out, c, EC_BYTES);
    if (c < spec->channels)
        ec_int8_max_of(spec, at, in, out, c, spec->channels - c);
}

/* Output rows [row0, row1). */
EC_INLINE void ec_int8_pool_max(const ec_pool spec, const int8_t *in, int8_t *out, int row0, int row1)
{
    for (int i = 0; i < ec_int8_lines(&spec, row0, row1); i++) {
        const ec_int8_line line = ec_int8_line_of(&spec, row0, row1, i);
        for (int x = 0; x < spec.window.out_w; x++) {
            const ec_int8_window at = ec_int8_window_of(&spec, line, x);
            ec_int8_max_pixel(&spec, &at, in + line.image, out);
        }
    }
}

#endif
#endif
