/* Filters of few bits, as kernels multiply them: of every byte the numbers from its lowest bits on, each a
   multiple, so many times itself, of what is stored. */
#ifndef EC_UNPACK_H
#define EC_UNPACK_H

#include <stdint.h>

/* Two numbers of a byte, -8 ... 7. */
EC_SHARED void ec_unpack_int4(int8_t *to, const unsigned char *from, int bytes, int times)
{
    for (int i = 0; i < bytes; i++, to += 2) {
        const int both = from[i];
        to[0] = (int8_t)((((both & 15) ^ 8) - 8) * times);
        to[1] = (int8_t)(((both >> 4 ^ 8) - 8) * times);
    }
}

/* Four numbers of a byte, -2 ... 1. */
EC_SHARED void ec_unpack_int2(int8_t *to, const unsigned char *from, int bytes, int times)
{
    for (int i = 0; i < bytes; i++, to += 4) {
        const int four = from[i];
        to[0] = (int8_t)((((four & 3) ^ 2) - 2) * times);
        to[1] = (int8_t)((((four >> 2 & 3) ^ 2) - 2) * times);
        to[2] = (int8_t)((((four >> 4 & 3) ^ 2) - 2) * times);
        to[3] = (int8_t)(((four >> 6 ^ 2) - 2) * times);
    }
}

#endif
