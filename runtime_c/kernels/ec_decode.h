/* A block of stored numbers in float32: for operands that are read often enough for it to pay, where
   decoding them in registers would take time again and again. */
#ifndef EC_DECODE_H
#define EC_DECODE_H

/* n elements at `from`, stored as fmt. */
EC_INLINE void ec_decode(float *to, const void *from, int n, int fmt)
{
    const int rest = n % EC_VL, whole = n - rest;
    for (int i = 0; i < whole; i += EC_VL)
        ec_store(to + i, ec_load_at(from, i, fmt));
    for (int i = 0; i < rest; i++)
        to[whole + i] = ec_get_at(from, whole + i, fmt);
}

#endif
