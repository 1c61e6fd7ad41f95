/* Vectors of fewer than EC_VL elements, for the ends of rows. */
#ifndef EC_LANES_H
#define EC_LANES_H

/* The first n lanes at p, n mostly a constant that equals EC_VL. */
EC_INLINE ec_vec ec_read(const float *p, int n)
{
    return n == EC_VL ? ec_load(p) : ec_load_n(p, n);
}
EC_INLINE void ec_write(float *p, ec_vec v, int n)
{
    if (n == EC_VL)
        ec_store(p, v);
    else
        ec_store_n(p, v, n);
}

/* Where element i of a tensor lies that is stored as fmt. */
EC_INLINE const void *ec_at(const void *p, ptrdiff_t i, int fmt)
{
    return (const char *)p + i * EC_STORED_BYTES(fmt);
}
EC_INLINE void *ec_place(void *p, ptrdiff_t i, int fmt)
{
    return (char *)p + i * EC_STORED_BYTES(fmt);
}

/* The first n elements, n <= EC_VL, from element i on of a tensor that is stored as fmt. */
EC_INLINE ec_vec ec_read_as(const void *p, ptrdiff_t i, int n, int fmt)
{
    const void *const from = ec_at(p, i, fmt);
    return n == EC_VL ? ec_load_as(from, fmt) : ec_load_as_n(from, n, fmt);
}

/* As ec_read_as, with `other` in the lanes from n on. */
EC_INLINE ec_vec ec_read_or_as(const void *p, ptrdiff_t i, int n, float other, int fmt)
{
    float lanes[EC_VL];
    const ec_vec found = ec_read_as(p, i, n, fmt);
    if (n == EC_VL)
        return found;
    ec_store(lanes, found);
    for (int k = n; k < EC_VL; k++)
        lanes[k] = other;
    return ec_load(lanes);
}

EC_INLINE void ec_write_as(void *p, ptrdiff_t i, ec_vec v, int n, int fmt)
{
    void *const to = ec_place(p, i, fmt);
    if (n == EC_VL)
        ec_store_as(to, v, fmt);
    else
        ec_store_as_n(to, v, n, fmt);
}

#endif
