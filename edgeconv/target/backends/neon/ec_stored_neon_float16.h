/* What numbers look like in memory beside vectors of halves: halves themselves, or float32, which is rounded to
   nearest even when it is read.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

enum { EC_F32, EC_SINGLE }; /* the kernels' own type, and float32 */

#define EC_STORED_BYTES(fmt) ((fmt) == EC_SINGLE ? 4 : 2)
#define EC_STORED_SPAN(fmt, n) ((n) * EC_STORED_BYTES(fmt))

EC_INLINE void ec_store_zeros(void *p, ptrdiff_t n, int fmt) { memset(p, 0, (size_t)EC_STORED_SPAN(fmt, n)); }
EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    const float32_t *const singles = p;
    switch (fmt) {
    case EC_SINGLE: return ec_narrowed(vld1q_f32(singles), vld1q_f32(singles + 4));
    default: return ec_load(p);
    }
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
EC_INLINE ec_real ec_get_as(const void *p, int fmt)
{
    switch (fmt) {
    case EC_SINGLE: return (ec_real) * (const float32_t *)p;
    default: return *(const ec_real *)p;
    }
}
EC_INLINE ec_real ec_get_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_get_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (fmt) {
    case EC_SINGLE: return ec_set1(ec_get_as(p, fmt));
    default: return vld1q_dup_f16(p);
    }
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    float32_t *const singles = p;
    switch (fmt) {
    case EC_SINGLE: vst1q_f32(singles, ec_lower(v)), vst1q_f32(singles + 4, ec_upper(v)); break;
    default: ec_store(p, v);
    }
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    float32_t lanes[EC_VL] = {0};
    switch (fmt) {
    case EC_SINGLE: memcpy(lanes, p, (size_t)n * sizeof *lanes); return ec_load_as(lanes, fmt);
    default: return ec_load_n(p, n);
    }
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    float32_t lanes[EC_VL];
    switch (fmt) {
    case EC_SINGLE: ec_store_as(lanes, v, fmt), memcpy(p, lanes, (size_t)n * sizeof *lanes); break;
    default: ec_store_n(p, v, n);
    }
}

#endif
