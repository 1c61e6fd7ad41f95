/* Vectors of fewer than EC_VL elements, for the ends of rows. */
#ifndef EC_LANES_H
#define EC_LANES_H

/* The first n lanes at p, n mostly a constant that equals EC_VL. */
EC_INLINE ec_vec ec_read(const float *p, int n)
{
    return n == EC_VL ? ec_load(p) : ec_load_n(p, n);
}
/* The same with `other` in the lanes from n on. */
EC_INLINE ec_vec ec_read_or(const float *p, int n, float other)
{
    float lanes[EC_VL];
    if (n == EC_VL)
        return ec_load(p);
    for (int i = 0; i < EC_VL; i++)
        lanes[i] = i < n ? p[i] : other;
    return ec_load(lanes);
}
EC_INLINE void ec_write(float *p, ec_vec v, int n)
{
    if (n == EC_VL)
        ec_store(p, v);
    else
        ec_store_n(p, v, n);
}

#endif
