/* Sigmoid and tanh of TensorFlow Lite in 16 bits: lines between the points of one table.

       t[i] = 2^16 s(i / 24),   s(x) = 1 / (1 + exp(-x)),   tanh(x) = 2 s(2 x) - 1,   i < 256

   Arguments have units of 2^-12 / 3, results units of 2^-15.  Beyond the last point but one both have their largest
   result. */
#ifndef EC_SHORT_SIGMOID_H
#define EC_SHORT_SIGMOID_H

enum { EC_SIGMOID_LAST = 255 };

/* 2^(16 + bits) s at a magnitude whose lower `bits` lie between two points; `end` where it is beyond the table. */
EC_INLINE int32_t ec_short_between(const uint16_t *table, int32_t magnitude, int bits, int32_t end)
{
    const int32_t place = magnitude >> bits;
    if (place >= EC_SIGMOID_LAST)
        return end;
    const int32_t below = table[place], above = table[place + 1];
    return below * (1 << bits) + (magnitude & ((1 << bits) - 1)) * (above - below);
}

EC_INLINE int32_t ec_short_sigmoid(const uint16_t *table, int32_t x)
{
    const int32_t found = ec_short_between(table, x < 0 ? -x : x, 9, 32767 * 1024);
    return (x < 0 ? (1 << 25) - found + 511 : found + 512) >> 10;
}

EC_INLINE int32_t ec_short_tanh(const uint16_t *table, int32_t x)
{
    const int32_t found = ec_short_between(table, x < 0 ? -x : x, 8, 65535 * 256) - (1 << 23);
    return (x < 0 ? 127 - found : found + 128) >> 8;
}

#endif
