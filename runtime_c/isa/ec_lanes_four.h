/* Loads of single elements for an ISA of four lanes without gathers: by way of the stack.
   Included by the ISA headers. */

EC_INLINE ec_vec ec_load_strided(const float *p, ptrdiff_t stride, int n)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        lanes[i] = p[i * stride];
    return ec_load(lanes);
}
EC_INLINE ec_vec ec_load_span(const float *p, int lo, int hi)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (lo <= 0 && hi >= 4)
        return ec_load(p);
    for (int i = 0; i < 4; i++)
        if (i >= lo && i < hi)
            lanes[i] = p[i];
    return ec_load(lanes);
}
EC_INLINE ec_vec ec_load_indexed(const float *p, const int32_t *index, int n)
{
    float lanes[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = 0; i < n; i++)
        lanes[i] = p[index[i]];
    return ec_load(lanes);
}
