/* The first n elements, for an ISA that has no masks for bytes: by way of the stack.  Included by
   the headers of such ISAs. */

EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    if (fmt == EC_F32)
        return ec_load_n((const float *)p, n);
    _Alignas(4) unsigned char bytes[EC_VL * 4];
    ec_store_zeros(bytes, EC_VL, fmt);
    switch (fmt) {
    case EC_I4: ec_copy_int4(bytes, p, n); break;
    default: memcpy(bytes, p, (size_t)n * EC_STORED_BYTES(fmt));
    }
    return ec_load_as(bytes, fmt);
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    if (fmt == EC_F32) {
        ec_store_n((float *)p, v, n);
        return;
    }
    _Alignas(4) unsigned char bytes[EC_VL * 4];
    ec_store_as(bytes, v, fmt);
    memcpy(p, bytes, (size_t)n * EC_STORED_BYTES(fmt));
}
