/* The storage formats of a program that stores float32 only: it has this in the place of its ISA's
   ec_stored_<isa>.h.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

enum { EC_F32 };

#define EC_STORED_BYTES(fmt) (4 + 0 * (fmt)) /* where fmt would be unused otherwise */
#define EC_STORED_SPAN(fmt, n) (4 * (n))

EC_INLINE void ec_store_zeros(void *p, ptrdiff_t n, int fmt)
{
    (void)fmt;
    memset(p, 0, (size_t)n * sizeof(float));
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    (void)fmt;
    return ec_load((const float *)p);
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    (void)fmt;
    return ec_load((const float *)p + i);
}
EC_INLINE float ec_get_at(const void *p, ptrdiff_t i, int fmt)
{
    (void)fmt;
    return ((const float *)p)[i];
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    (void)fmt;
    return ec_load_n((const float *)p, n);
}
EC_INLINE float ec_get_as(const void *p, int fmt)
{
    (void)fmt;
    return *(const float *)p;
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt) { return ec_set1(ec_get_as(p, fmt)); }
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    (void)fmt;
    ec_store((float *)p, v);
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    (void)fmt;
    ec_store_n((float *)p, v, n);
}

#endif
