/* The first n bytes of a vector, for an ISA that has no masks for bytes: by way of the stack.  Included by the
   headers of such ISAs.  Meanings: see ec_bytes_portable.h. */

EC_INLINE ec_bvec ec_bload_first(const int8_t *p, int n)
{
    int8_t bytes[EC_BYTES] = {0};
    memcpy(bytes, p, (size_t)n);
    return ec_bload(bytes);
}
EC_INLINE void ec_bstore_first(int8_t *p, ec_bvec v, int n)
{
    int8_t bytes[EC_BYTES];
    ec_bstore(bytes, v);
    memcpy(p, bytes, (size_t)n);
}
