/* A number of EC_Q8 plus another: the sum of what memory holds and the other, rounded once each.
   Compilers may make one multiply-add of decoding and adding, which rounds once in all. */
#define EC_Q8_TABLE {0.0371f, -9.0f}, {0.7f, 60.0f}
#include "ec_common.h"
#include EC_ISA_HEADER
#include EC_STORED_HEADER
#include <stdio.h>

enum { TYPES = 2, CODES = 128 };

EC_INLINE int wrong(int code, int other, int fmt)
{
    const ec_q8 as = ec_q8_of(fmt);
    int8_t codes[EC_VL];
    float addends[EC_VL], sums[EC_VL];
    const volatile float product = ((float)code - as.zero) * as.scale; /* rounded: stored */
    const volatile float addend = (float)other * 0.0371004f;
    const float want = product + addend;
    for (int i = 0; i < EC_VL; i++) {
        codes[i] = (int8_t)code;
        addends[i] = addend;
    }
    ec_store(sums, ec_add(ec_load_as(codes, fmt), ec_load(addends)));
    const float one = ec_get_as(codes, fmt) + addends[0];
    return (ec_bits(sums[0]) != ec_bits(want)) | (ec_bits(one) != ec_bits(want)) << 1;
}

int main(void)
{
    int vectors = 0, elements = 0;
    for (int code = -CODES; code < CODES; code++)
        for (int other = -CODES; other < CODES; other++) {
            const int found = wrong(code, other, EC_Q8) | wrong(code, other, EC_Q8 + 1) << 2;
            vectors += (found & 1) + (found >> 2 & 1);
            elements += (found >> 1 & 1) + (found >> 3 & 1);
        }
    if (vectors || elements)
        printf("of %d sums %d in vectors and %d of single elements are wrong\n",
               TYPES * 4 * CODES * CODES, vectors, elements);
    return vectors || elements;
}
