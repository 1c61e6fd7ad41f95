/* What numbers look like in memory: float32 itself, its most significant bytes (Flyte), or integers.
   Registers always hold float32.  Kernels include ec_stored_<isa>.h behind the ISA header, which
   brings the vector functions; their meaning, per lane, is in ec_stored_portable.h.

   Flyte keeps the upper 24, 16 or 8 bits of a float32, low byte first; reading appends zero bytes.
   Flyte24 and flyte16 have a sign, eight bits of exponent and 15 or 7 of mantissa, infinities and
   NaN among them.  Flyte8 has a sign and the upper seven bits of the exponent: zero and the numbers
   2^-125, 2^-123 ... 2^127.  It has neither infinities nor NaN; both become 2^127 with the sign they
   had.

   Writing takes the nearest number that the format has, of two equally near ones that with an even
   last bit, and never an infinity for a finite number.  A NaN keeps its upper bits and becomes
   quiet.  Subnormal numbers are like any others.  A program that defines EC_TRUNCATE as 1 before
   takes the nearest number toward zero instead, which drops the lower bits.

   Integers are in units that the caller knows, and are only read: int8 holds -127 ... 127, int4
   -7 ... 7 in two's complement, of two elements the first in the lower half of a byte.

   EC_Q8 holds (integer - zero) * scale for the integers of int8, the numbers that DequantizeLinear
   makes of them, bit by bit.  Every tensor may have its own: format EC_Q8 + i is entry i of
   EC_Q8_TABLE, which a program that has such defines before as {scale, zero}, {scale, zero}, ...;
   zero is a whole number from -128 to 127, scale lies between 2^-100 and 2^100.  Only such numbers
   are written, and nothing is lost.  Of others the nearest integer is taken, up to 2^22 scales away;
   what lies further, and NaN, becomes any of the integers.

   EC_Q16 holds the same of int16, low byte first, at even addresses: format EC_Q16 + i is entry i too,
   zero a whole number from -32768 to 32767. */
#ifndef EC_STORED_H
#define EC_STORED_H

#ifndef EC_TRUNCATE
#define EC_TRUNCATE 0
#endif

enum { EC_F32, EC_F24, EC_F16, EC_F8, EC_I8, EC_I4, EC_Q8 = 16, EC_Q16 = 65536 };
#define EC_KIND(fmt) ((fmt) < 16 ? (fmt) : (fmt) < 65536 ? 16 : 65536) /* EC_Q8, EC_Q16, whichever entry */

typedef struct ec_q8 {
    float scale, zero;
} ec_q8;

#ifndef EC_Q8_TABLE
#define EC_Q8_TABLE {1.0f, 0.0f} /* no program's: a table has an entry */
#endif
EC_INLINE ec_q8 ec_q8_of(int fmt)
{
    static const ec_q8 ec_q8_table[] = {EC_Q8_TABLE};
    return ec_q8_table[fmt % 65536 - (fmt < 65536 ? 16 : 0)];
}

/* Rounds a product before it is added to anything.  With -ffp-contract=fast compilers make one
   multiply-add of both, and what is added is not the number that memory holds.  Where there are such
   instructions the register passes through assembly, of which compilers know nothing.  Others make one
   of what stands in one expression at most (C11 6.5p8), and the product is one of its own. */
#if !defined(__GNUC__) && !defined(__clang__)
#define EC_ROUNDED(product) ((void)(product))
#elif defined(__AVX512F__)
#define EC_ROUNDED(product) __asm__("" : "+v"(product))
#elif defined(__FMA__)
#define EC_ROUNDED(product) __asm__("" : "+x"(product))
#elif defined(__ARM_FEATURE_FMA)
#define EC_ROUNDED(product) __asm__("" : "+w"(product))
#elif defined(__VSX__)
#define EC_ROUNDED(product) __asm__("" : "+wa"(product))
#elif defined(__riscv_flen)
#define EC_ROUNDED(product) __asm__("" : "+f"(product))
#else
#define EC_ROUNDED(product) ((void)(product))
#endif
#ifndef EC_ROUNDED_VECTOR /* an ISA's, whose vectors have registers of another kind than float */
#define EC_ROUNDED_VECTOR(product) EC_ROUNDED(product)
#endif

/* Bytes of one element, of a format that has whole ones; bytes of n consecutive elements without a gap.
   Constant expressions where n is one. */
#define EC_STORED_BYTES(fmt)                                                                       \
    ((fmt) == EC_F32 ? 4 : (fmt) == EC_F24 ? 3 : (fmt) == EC_F16 || (fmt) >= 65536 ? 2 : 1)
#define EC_STORED_SPAN(fmt, n) ((fmt) == EC_I4 ? ((n) + 1) / 2 : (n) * EC_STORED_BYTES(fmt))

/* Of a flyte format, as bits of a float32: the last bit that it keeps, its largest finite number,
   and what is added before the rest is cut off, one more where the last bit is odd.  Halfway between
   two neighbours lies half of the last bit, but for flyte8: its neighbours differ by a factor of
   four, and halfway from 1 to 4 lies 2.5, which is 3/8 of the last bit below 4.  (Halfway from 0 to
   2^-125 is taken to lie where it would be from 2^-127.) */
#define EC_STORED_LAST_BIT(fmt) (1u << (32 - 8 * EC_STORED_BYTES(fmt)))
#define EC_STORED_LARGEST(fmt) (0x7f7fffffu & (0u - EC_STORED_LAST_BIT(fmt)))
#define EC_STORED_HALF(fmt) ((fmt) == EC_F8 ? 0x5fffffu : EC_STORED_LAST_BIT(fmt) / 2u - 1u)

#define EC_INFINITY_BITS 0x7f800000u
#define EC_QUIET_BIT 0x00400000u

/* A float32's bits, rounded to a flyte format.  Bits that the format does not keep are anything.
   Nothing is added to what exceeds the largest finite number: cutting off makes that number of it,
   or leaves an infinity or NaN. */
EC_INLINE uint32_t ec_round_bits(uint32_t bits, int fmt)
{
    const uint32_t size = bits & 0x7fffffffu, odd = bits / EC_STORED_LAST_BIT(fmt) & 1u;
    const uint32_t quiet = fmt != EC_F8 && size > EC_INFINITY_BITS ? EC_QUIET_BIT : 0u;
    const int cut = EC_TRUNCATE || size > EC_STORED_LARGEST(fmt);
    return (bits + (cut ? 0u : EC_STORED_HALF(fmt) + odd)) | quiet;
}

/* Four bits of two's complement. */
EC_INLINE float ec_int4(unsigned bits) { return (float)((int)((bits & 15u) ^ 8u) - 8); }

/* Numbers of EC_Q8, from their integers times a power of two up to 2^24, which changes exponents but
   no bit of the product. */
EC_INLINE ec_vec ec_from_q8(ec_vec integers, float times, int fmt)
{
    const ec_q8 as = ec_q8_of(fmt);
    const ec_vec zero = ec_set1(as.zero * times), scale = ec_set1(as.scale / times);
    const int centred = as.zero == 0.0f; /* what GCC does not see in NEON's intrinsics */
    ec_vec v = ec_mul(centred ? integers : ec_sub(integers, zero), scale);
    EC_ROUNDED_VECTOR(v);
    return v;
}
/* The integers of such numbers, but for rounding errors below 2^-10, of EC_Q16 2^-6, plus a constant. */
EC_INLINE ec_vec ec_to_q8(ec_vec v, float plus, int fmt)
{
    const ec_q8 as = ec_q8_of(fmt);
    return ec_fma(v, ec_set1(1.0f / as.scale), ec_set1(as.zero + plus));
}
/* The number that stands for zero. */
EC_INLINE int ec_zero_of(int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_Q8:
    case EC_Q16: return (int)ec_q8_of(fmt).zero;
    default: return 0;
    }
}
/* n elements that stand for zero. */
EC_INLINE void ec_store_zeros(void *p, ptrdiff_t n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_Q16:
        for (ptrdiff_t i = 0; i < n; i++)
            ((int16_t *)p)[i] = (int16_t)ec_zero_of(fmt);
        break;
    default: memset(p, ec_zero_of(fmt), (size_t)EC_STORED_SPAN(fmt, n));
    }
}

/* One element of EC_Q8. */
EC_INLINE float ec_get_q8(const int8_t *p, int fmt)
{
    const ec_q8 as = ec_q8_of(fmt);
    float x = ((float)*p - as.zero) * as.scale;
    EC_ROUNDED(x);
    return x;
}

/* One element of EC_Q16. */
EC_INLINE float ec_get_q16(const int16_t *p, int fmt)
{
    const ec_q8 as = ec_q8_of(fmt);
    float x = ((float)*p - as.zero) * as.scale;
    EC_ROUNDED(x);
    return x;
}

/* One element, of int4 the first of a byte.  The two lowest bytes are put together first: compilers
   make that one load. */
EC_INLINE uint32_t ec_byte(const void *p, ptrdiff_t i) { return ((const unsigned char *)p)[i]; }

EC_INLINE float ec_get_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24:
        return ec_from_bits((ec_byte(p, 0) | ec_byte(p, 1) << 8) << 8 | ec_byte(p, 2) << 24);
    case EC_F16: return ec_from_bits((ec_byte(p, 0) | ec_byte(p, 1) << 8) << 16);
    case EC_F8: return ec_from_bits(ec_byte(p, 0) << 24);
    case EC_I8: return (float)*(const int8_t *)p;
    case EC_I4: return ec_int4(ec_byte(p, 0));
    case EC_Q8: return ec_get_q8((const int8_t *)p, fmt);
    case EC_Q16: return ec_get_q16((const int16_t *)p, fmt);
    default: return *(const float *)p;
    }
}
/* Element i of those at p. */
EC_INLINE float ec_get_at(const void *p, ptrdiff_t i, int fmt)
{
    switch (fmt) {
    case EC_I4: return ec_int4(i % 2 ? ec_byte(p, i / 2) >> 4 : ec_byte(p, i / 2));
    default: return ec_get_as((const char *)p + i * EC_STORED_BYTES(fmt), fmt);
    }
}

/* The bytes of the first n int4, zeros behind them: in `to` is room for a whole vector. */
EC_INLINE const void *ec_copy_int4(unsigned char *to, const void *p, int n)
{
    memcpy(to, p, (size_t)(n + 1) / 2);
    if (n % 2)
        to[n / 2] &= 15u;
    return to;
}

#endif
