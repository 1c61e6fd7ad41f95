/* What 64-bit and 32-bit NEON spell alike.  Included by their headers. */

/* Four bytes at any address, and two: without this, Clang tells lane loads that the address is
   aligned. */
typedef uint32_t ec_word __attribute__((aligned(1)));
typedef uint16_t ec_half __attribute__((aligned(1)));

/* As ec_round_bits, with `truncate` for EC_TRUNCATE; integer instructions only, which know no
   subnormal numbers to flush. */
EC_INLINE uint32x4_t ec_round_as(ec_vec v, int fmt, int truncate)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const uint32x4_t size = vbicq_u32(bits, vdupq_n_u32(0x80000000u));
    const uint32x4_t odd = vtstq_u32(bits, vdupq_n_u32(EC_STORED_LAST_BIT(fmt))); /* -1 or 0 */
    const uint32x4_t more = vsubq_u32(vdupq_n_u32(EC_STORED_HALF(fmt)), odd);
    const uint32x4_t beyond = vcgtq_u32(size, vdupq_n_u32(EC_STORED_LARGEST(fmt)));
    const uint32x4_t rounded = truncate ? bits : vaddq_u32(bits, vbicq_u32(more, beyond));
    if (fmt == EC_F8)
        return rounded;
    const uint32x4_t nan = vcgtq_u32(size, vdupq_n_u32(EC_INFINITY_BITS));
    return vorrq_u32(rounded, vandq_u32(nan, vdupq_n_u32(EC_QUIET_BIT)));
}
/* The highest byte is the integer: all 32 bits are the number with 24 bits of fraction, saturated, and half
   a step higher since the fraction is dropped. */
EC_INLINE uint32x4_t ec_round_q8(ec_vec v, int fmt)
{
    return vreinterpretq_u32_s32(vcvtq_n_s32_f32(ec_to_q8(v, 0.5f, fmt), 24));
}
/* The upper half is the integer: all 32 bits are the number with 16 bits of fraction, saturated. */
EC_INLINE int16x4_t ec_round_q16(ec_vec v, int fmt)
{
    return vshrn_n_s32(vcvtq_n_s32_f32(ec_to_q8(v, 0.5f, fmt), 16), 16);
}
