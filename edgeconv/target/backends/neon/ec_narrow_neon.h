/* Vectors of 2 * EC_VL int16, on the way from sums to bytes: NEON of 64 bits.  Meanings: see ec_integers_portable.h.
   Included by ec_integers_neon.h. */
#define EC_NARROWS
typedef int16x8_t ec_nvec;

/* Two vectors side by side, by one instruction, whoever else has them in registers: that copies one each. */
#define EC_LOADS_TWO
EC_INLINE void ec_iload_two(const int32_t *p, ec_ivec *first, ec_ivec *second)
{
    __asm__("ldp %q0, %q1, [%2]" : "=w"(*first), "=w"(*second) : "r"(p), "m"(*(const int32_t(*)[2 * EC_VL])p));
}

/* A number in all lanes, made where it stands: compilers else keep it in a register throughout loops over tiles,
   which need them all. */
EC_INLINE ec_ivec ec_iset1_here(int32_t x)
{
    __asm__ volatile("" : "+r"(x));
    return vdupq_n_s32(x);
}
EC_INLINE ec_nvec ec_nset1_here(int32_t x)
{
    __asm__ volatile("" : "+r"(x));
    return vdupq_n_s16((int16_t)x);
}

EC_INLINE ec_nvec ec_nbetween(ec_nvec v, int low, int high)
{
    if (low == -128 && high == 127)
        return vmovl_s8(vqmovn_s16(v));
    return vminq_s16(vmaxq_s16(v, ec_nset1_here(low)), ec_nset1_here(high));
}
EC_INLINE ec_ivec ec_nwiden(ec_nvec v, int upper)
{
    return upper ? vmovl_high_s16(v) : vmovl_s16(vget_low_s16(v));
}

/* Two narrower vectors in one: compilers copy the first half of what vqmovn_high_s32 and the like are given. */
EC_INLINE ec_nvec ec_narrow(ec_ivec a, ec_ivec b)
{
    ec_nvec both;
    __asm__("sqxtn %0.4h, %1.4s" : "=w"(both) : "w"(a));
    __asm__("sqxtn2 %0.8h, %1.4s" : "+w"(both) : "w"(b));
    return both;
}

/* The number of bits is one of the instruction. */
#define EC_BY_BITS(CASE) \
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) \
    CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14) CASE(15) CASE(16)
#define EC_NARROW_BOTH(INSTRUCTION, BITS) \
    __asm__(INSTRUCTION " %0.4h, %1.4s, #" #BITS : "=w"(both) : "w"(a)); \
    __asm__(INSTRUCTION "2 %0.8h, %1.4s, #" #BITS : "+w"(both) : "w"(b)); \
    return both
enum { EC_NARROWS_BITS = 16 };

/* floor(v / 2^bits), or halves of a step up; bits: 1 to EC_NARROWS_BITS. */
EC_INLINE ec_nvec ec_nfloor(ec_ivec a, ec_ivec b, int bits)
{
    ec_nvec both;
#define EC_CASE(BITS) case BITS: EC_NARROW_BOTH("sqshrn", BITS);
    switch (bits) {
        EC_BY_BITS(EC_CASE)
    default: return ec_narrow(a, b);
    }
#undef EC_CASE
}
EC_INLINE ec_nvec ec_nnearest(ec_ivec a, ec_ivec b, int bits)
{
    ec_nvec both;
#define EC_CASE(BITS) case BITS: EC_NARROW_BOTH("sqrshrn", BITS);
    switch (bits) {
        EC_BY_BITS(EC_CASE)
    default: return ec_narrow(a, b);
    }
#undef EC_CASE
}
#undef EC_BY_BITS
#undef EC_NARROW_BOTH

EC_INLINE ec_nvec ec_nshift_right(ec_ivec a, ec_ivec b, int bits)
{
    if (bits >= 1 && bits <= EC_NARROWS_BITS)
        return ec_nfloor(a, b, bits);
    if (bits > EC_NARROWS_BITS) /* the upper halves */
        return vshlq_s16(vuzp2q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)),
                         vdupq_n_s16((int16_t)(EC_NARROWS_BITS - bits)));
    return ec_narrow(a, b);
}

/* The doubled product is what there is an instruction for: floor((floor(d / 2) + offset) / 2^right) is
   floor((d + 2 * offset) / 2^(right + 1)), which saturates where it is beyond every bound.  Mostly the offset is a
   whole number and a half of results: then it is rounded, and the number added to two vectors at once. */
typedef struct ec_noffset {
    ec_nvec whole;
    ec_ivec added;
    int rounds, doubled;
} ec_noffset;

EC_INLINE ec_noffset ec_noffset_of(int offset, int right)
{
    const int one = right > 0 && right < EC_NARROWS_BITS ? 1 << right : 0, rest = one ? offset & (one - 1) : 0;
    const int fits = offset > -(1 << 24) && offset < 1 << 24, rounds = fits && one && rest == one / 2;
    const int whole = rounds ? (offset - rest) / one : 0, small = whole >= -256 && whole <= 256;
    ec_noffset found = {.whole = vdupq_n_s16(0), .added = vdupq_n_s32(0), .rounds = rounds && small,
                        .doubled = fits && right < EC_NARROWS_BITS};
    if (found.rounds)
        found.whole = ec_nset1_here(whole);
    else
        found.added = ec_iset1_here(found.doubled ? 2 * offset : offset);
    return found;
}

/* floor((floor(d / 2) + added) / 2^right) of doubled products d, whatever is added. */
EC_INLINE ec_nvec ec_nhalved(ec_ivec x, ec_ivec y, ec_ivec added_x, ec_ivec added_y, int right)
{
    const ec_ivec by = vdupq_n_s32(-right);
    return ec_narrow(vshlq_s32(vaddq_s32(vshrq_n_s32(x, 1), added_x), by),
                      vshlq_s32(vaddq_s32(vshrq_n_s32(y, 1), added_y), by));
}

EC_INLINE ec_nvec ec_nscaled(ec_ivec a, ec_ivec b, ec_ivec by_a, ec_ivec by_b, const ec_noffset offset, int right)
{
    const ec_ivec x = vqdmulhq_s32(a, by_a), y = vqdmulhq_s32(b, by_b);
    if (offset.rounds)
        return vqaddq_s16(ec_nnearest(x, y, right + 1), offset.whole);
    if (offset.doubled)
        return ec_nfloor(vqaddq_s32(x, offset.added), vqaddq_s32(y, offset.added), right + 1);
    return ec_nhalved(x, y, offset.added, offset.added, right);
}
/* With an offset of each lane, whose double is a word, too. */
EC_INLINE ec_nvec ec_nscaled_each(ec_ivec a, ec_ivec b, ec_ivec by_a, ec_ivec by_b, ec_ivec added_a, ec_ivec added_b, int right)
{
    const ec_ivec x = vqdmulhq_s32(a, by_a), y = vqdmulhq_s32(b, by_b);
    if (right < EC_NARROWS_BITS)
        return ec_nfloor(vqaddq_s32(x, vshlq_n_s32(added_a, 1)), vqaddq_s32(y, vshlq_n_s32(added_b, 1)), right + 1);
    return ec_nhalved(x, y, added_a, added_b, right);
}

EC_INLINE ec_nvec ec_nload_s8(const int8_t *p, int n)
{
    int8x8_t bytes = vdup_n_s8(0);
    if (n == 8)
        bytes = vld1_s8(p);
    else
        memcpy(&bytes, p, (size_t)n);
    return vmovl_s8(bytes);
}
EC_INLINE void ec_nstore_s8(int8_t *p, ec_nvec v, int low, int high, int n)
{
    int8x8_t bytes = vqmovn_s16(v);
    if (low > -128)
        bytes = vmax_s8(bytes, vdup_n_s8((int8_t)low));
    if (high < 127)
        bytes = vmin_s8(bytes, vdup_n_s8((int8_t)high));
    if (n == 8)
        vst1_s8(p, bytes);
    else
        memcpy(p, &bytes, (size_t)n);
}
/* The first n bytes of each half, `row` bytes apart. */
EC_INLINE ec_nvec ec_nload_s8_rows(const int8_t *p, ptrdiff_t row, int n)
{
    int32_t words[2] = {0};
    memcpy(words, p, (size_t)n);
    memcpy(words + 1, p + row, (size_t)n);
    return vmovl_s8(vreinterpret_s8_s32(vset_lane_s32(words[1], vdup_n_s32(words[0]), 1)));
}
EC_INLINE void ec_nstore_s8_rows(int8_t *p, ptrdiff_t row, ec_nvec v, int low, int high, int n)
{
    int8_t bytes[8];
    ec_nstore_s8(bytes, v, low, high, 8);
    memcpy(p, bytes, (size_t)n);
    memcpy(p + row, bytes + 4, (size_t)n);
}
EC_INLINE void ec_nstore_s8_two(int8_t *p, ec_nvec a, ec_nvec b, int low, int high)
{
    int8x16_t bytes;
    __asm__("sqxtn %0.8b, %1.8h" : "=w"(bytes) : "w"(a));
    __asm__("sqxtn2 %0.16b, %1.8h" : "+w"(bytes) : "w"(b));
    if (low > -128)
        bytes = vmaxq_s8(bytes, vdupq_n_s8((int8_t)low));
    if (high < 127)
        bytes = vminq_s8(bytes, vdupq_n_s8((int8_t)high));
    vst1q_s8(p, bytes);
}
