/* What numbers look like in memory: float32 itself, its most significant bytes (Flyte), or int8.
   Registers always hold float32.  Kernels include ec_stored_<isa>.h behind the ISA header, which
   brings the vector functions; their meaning, per lane, is in ec_stored_portable.h.

   Flyte keeps the upper 24, 16 or 8 bits of a float32, low byte first; reading appends zero bytes.
   Flyte24 and flyte16 have a sign, eight bits of exponent and 15 or 7 of mantissa, infinities and
   NaN among them.  Flyte8 has a sign and the upper seven bits of the exponent: zero and the numbers
   2^-125, 2^-123 ... 2^127.  It has neither infinities nor NaN; both become 2^127 with the sign they
   had.

   Writing takes the nearest number that the format has, of two equally near ones that with an even
   last bit, and never an infinity for a finite number.  A NaN keeps its upper bits and becomes
   quiet.  Subnormal numbers are like any others.  int8 holds -127 ... 127 in units that the caller
   knows, and is only read. */
#ifndef EC_STORED_H
#define EC_STORED_H

enum { EC_F32, EC_F24, EC_F16, EC_F8, EC_I8 };

/* Bytes of one element, consecutive elements without a gap: a constant expression. */
#define EC_STORED_BYTES(fmt)                                                                       \
    ((fmt) == EC_F32 ? 4 : (fmt) == EC_F24 ? 3 : (fmt) == EC_F16 ? 2 : 1)

/* Of a flyte format, as bits of a float32: the last bit that it keeps, its largest finite number,
   and what is added before the rest is cut off, one more where the last bit is odd.  Halfway between
   two neighbours lies half of the last bit, but for flyte8: its neighbours differ by a factor of
   four, and halfway from 1 to 4 lies 2.5, which is 3/8 of the last bit below 4.  (Halfway from 0 to
   2^-125 is taken to lie where it would be from 2^-127.) */
#define EC_STORED_UNIT(fmt) (1u << (32 - 8 * EC_STORED_BYTES(fmt)))
#define EC_STORED_LARGEST(fmt) (0x7f7fffffu & (0u - EC_STORED_UNIT(fmt)))
#define EC_STORED_HALF(fmt) ((fmt) == EC_F8 ? 0x5fffffu : EC_STORED_UNIT(fmt) / 2u - 1u)

#define EC_INFINITY_BITS 0x7f800000u
#define EC_QUIET_BIT 0x00400000u

/* A float32's bits, rounded to a flyte format.  Bits that the format does not keep are anything.
   Nothing is added to what exceeds the largest finite number: cutting off makes that number of it,
   or leaves an infinity or NaN. */
EC_INLINE uint32_t ec_round_bits(uint32_t bits, int fmt)
{
    const uint32_t size = bits & 0x7fffffffu, odd = bits / EC_STORED_UNIT(fmt) & 1u;
    const uint32_t quiet = fmt != EC_F8 && size > EC_INFINITY_BITS ? EC_QUIET_BIT : 0u;
    return (bits + (size > EC_STORED_LARGEST(fmt) ? 0u : EC_STORED_HALF(fmt) + odd)) | quiet;
}

/* One element.  The two lowest bytes are put together first: compilers make that one load. */
EC_INLINE float ec_get_as(const void *p, int fmt)
{
    const unsigned char *b = (const unsigned char *)p;
    switch (fmt) {
    case EC_F24:
        return ec_from_bits(((uint32_t)b[0] | (uint32_t)b[1] << 8) << 8 | (uint32_t)b[2] << 24);
    case EC_F16: return ec_from_bits(((uint32_t)b[0] | (uint32_t)b[1] << 8) << 16);
    case EC_F8: return ec_from_bits((uint32_t)b[0] << 24);
    case EC_I8: return (float)*(const int8_t *)p;
    default: return *(const float *)p;
    }
}

#endif
