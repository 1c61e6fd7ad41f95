/* Loads and stores of stored numbers on little-endian POWER10.  Meanings: see ec_stored_portable.h. */
#ifndef EC_STORED_ISA_H
#define EC_STORED_ISA_H

#include "ec_stored.h"

/* The elements that `packed` begins with.  Indices from 16 on are of the zeros. */
EC_INLINE ec_vec_u8 ec_spread(ec_vec_u8 packed, ec_vec_u8 from)
{
    return vec_perm(packed, vec_splats((unsigned char)0), from);
}
EC_INLINE ec_vec_u8 ec_spread_highest(ec_vec_u8 packed)
{
    const ec_vec_u8 from = {16, 16, 16, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16, 16, 16, 3};
    return ec_spread(packed, from);
}

EC_INLINE ec_vec ec_unpack_flyte24(ec_vec_u8 packed)
{
    const ec_vec_u8 from = {16, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11};
    return (ec_vec)ec_spread(packed, from);
}
EC_INLINE ec_vec ec_unpack_flyte16(ec_vec_u8 packed)
{
    const ec_vec_u8 from = {16, 16, 0, 1, 16, 16, 2, 3, 16, 16, 4, 5, 16, 16, 6, 7};
    return (ec_vec)ec_spread(packed, from);
}
EC_INLINE ec_vec ec_unpack_int8(ec_vec_u8 packed)
{
    return vec_ctf((ec_vec_s32)ec_spread_highest(packed), 24);
}
EC_INLINE ec_vec ec_unpack_int16(ec_vec_u8 packed)
{
    return vec_ctf((ec_vec_s32)ec_unpack_flyte16(packed), 16);
}
/* Four bytes in every word, eight in both halves.  Assembly: compilers would load a general
   register and move that. */
EC_INLINE ec_vec_u8 ec_load_four(const void *p)
{
    typedef uint32_t four __attribute__((aligned(1)));
    ec_vec_u8 v;
    __asm__("lxvwsx %x0, %y1" : "=wa"(v) : "Z"(*(const four *)p));
    return v;
}
EC_INLINE ec_vec_u8 ec_load_eight(const void *p)
{
    typedef uint64_t eight __attribute__((aligned(1)));
    ec_vec_u8 v;
    __asm__("lxvdsx %x0, %y1" : "=wa"(v) : "Z"(*(const eight *)p));
    return v;
}
/* Four bits each, of two bytes that every lane has in its upper half: shifted to the top, then down
   again with their sign. */
EC_INLINE ec_vec ec_load_int4(const void *p)
{
    const ec_vec_u8 spread = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    const ec_vec_u32 up = {12, 8, 4, 0};
    const ec_vec_u8 two = vec_xl_len((unsigned char *)p, 2);
    const ec_vec_s32 four = (ec_vec_s32)vec_perm(two, two, spread);
    return vec_ctf(vec_sra(vec_sl(four, up), vec_splats(28u)), 0);
}

EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return ec_unpack_flyte24(vec_xl_len((unsigned char *)p, 12));
    case EC_F16: return ec_unpack_flyte16(ec_load_eight(p));
    case EC_F8: return (ec_vec)ec_spread_highest(ec_load_four(p));
    case EC_I8: return ec_unpack_int8(ec_load_four(p));
    case EC_I4: return ec_load_int4(p);
    case EC_Q8: return ec_from_q8(ec_unpack_int8(ec_load_four(p)), 1.0f, fmt);
    case EC_Q16: return ec_from_q8(ec_unpack_int16(ec_load_eight(p)), 1.0f, fmt);
    default: return ec_load((const float *)p);
    }
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
EC_INLINE ec_vec ec_load_int4_n(const void *p, int n)
{
    unsigned char few[EC_VL / 2] = {0};
    return ec_load_int4(ec_copy_int4(few, p, n));
}
EC_INLINE ec_vec ec_load_scaled_n(ec_vec integers, int n, int fmt)
{
    const ec_vec v = ec_from_q8(integers, 1.0f, fmt);
    const ec_vec_s32 lanes = {0, 1, 2, 3};
    return (ec_vec)vec_and((ec_vec_u32)v, (ec_vec_u32)vec_cmplt(lanes, vec_splats(n)));
}
EC_INLINE ec_vec_u8 ec_load_bytes(const void *p, int n)
{
    return vec_xl_len((unsigned char *)p, (size_t)n);
}
EC_INLINE ec_vec ec_load_as_n(const void *p, int n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return ec_unpack_flyte24(ec_load_bytes(p, 3 * n));
    case EC_F16: return ec_unpack_flyte16(ec_load_bytes(p, 2 * n));
    case EC_F8: return (ec_vec)ec_spread_highest(ec_load_bytes(p, n));
    case EC_I8: return ec_unpack_int8(ec_load_bytes(p, n));
    case EC_I4: return ec_load_int4_n(p, n);
    case EC_Q8: return ec_load_scaled_n(ec_unpack_int8(ec_load_bytes(p, n)), n, fmt);
    case EC_Q16: return ec_load_scaled_n(ec_unpack_int16(ec_load_bytes(p, 2 * n)), n, fmt);
    default: return ec_load_n((const float *)p, n);
    }
}

EC_INLINE ec_vec ec_set1_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_Q8:
        return ec_from_q8(ec_unpack_int8(vec_splats(*(const unsigned char *)p)), 1.0f, fmt);
    case EC_Q16:
        return ec_from_q8(ec_unpack_int16((ec_vec_u8)vec_splats(*(const unsigned short *)p)), 1.0f, fmt);
    default: return ec_set1(ec_get_as(p, fmt));
    }
}

/* As ec_round_bits, with `truncate` for EC_TRUNCATE.  (GCC 12 breaks down over vec_splats of a
   conditional expression.) */
EC_INLINE ec_vec_u32 ec_round_as(ec_vec v, int fmt, int truncate)
{
    const unsigned largest = EC_STORED_LARGEST(fmt), half = EC_STORED_HALF(fmt);
    const unsigned dropped = 32u - 8u * EC_STORED_BYTES(fmt);
    const ec_vec_u32 bits = (ec_vec_u32)v, size = vec_and(bits, vec_splats(0x7fffffffu));
    const ec_vec_u32 odd = vec_and(vec_sr(bits, vec_splats(dropped)), vec_splats(1u));
    const ec_vec_u32 more = vec_add(odd, vec_splats(half));
    const ec_vec_u32 beyond = (ec_vec_u32)vec_cmpgt(size, vec_splats(largest));
    const ec_vec_u32 rounded = truncate ? bits : vec_add(bits, vec_andc(more, beyond));
    if (fmt == EC_F8)
        return rounded;
    const ec_vec_u32 nan = (ec_vec_u32)vec_cmpgt(size, vec_splats(EC_INFINITY_BITS));
    return vec_or(rounded, vec_and(nan, vec_splats(EC_QUIET_BIT)));
}
/* The highest byte is the integer: all 32 bits are the number with 24 bits of fraction, saturated, and half
   a step higher since the fraction is dropped. */
EC_INLINE ec_vec_u32 ec_round_q8(ec_vec v, int fmt)
{
    return (ec_vec_u32)vec_cts(ec_to_q8(v, 0.5f, fmt), 24);
}
/* The upper half is the integer: all 32 bits are the number with 16 bits of fraction, saturated. */
EC_INLINE ec_vec_u32 ec_round_q16(ec_vec v, int fmt)
{
    return (ec_vec_u32)vec_cts(ec_to_q8(v, 0.5f, fmt), 16);
}
/* The bytes that are kept, the others behind them. */
EC_INLINE ec_vec_u8 ec_pack_flyte24(ec_vec v)
{
    const ec_vec_u8 bits = (ec_vec_u8)ec_round_as(v, EC_F24, EC_TRUNCATE);
    const ec_vec_u8 order = {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 0, 4, 8, 12};
    return vec_perm(bits, bits, order);
}
EC_INLINE ec_vec_u8 ec_pack_upper(ec_vec_u32 rounded)
{
    const ec_vec_u8 bits = (ec_vec_u8)rounded;
    const ec_vec_u8 order = {2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13};
    return vec_perm(bits, bits, order);
}
EC_INLINE ec_vec_u8 ec_pack_highest(ec_vec_u32 rounded)
{
    const ec_vec_u8 bits = (ec_vec_u8)rounded;
    const ec_vec_u8 order = {3, 7, 11, 15, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14};
    return vec_perm(bits, bits, order);
}

EC_INLINE void ec_store_bytes(void *p, ec_vec_u8 packed, int n)
{
    vec_xst_len(packed, (unsigned char *)p, (size_t)n);
}
EC_INLINE void ec_store_as_n(void *p, ec_vec v, int n, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: ec_store_bytes(p, ec_pack_flyte24(v), 3 * n); break;
    case EC_F16: ec_store_bytes(p, ec_pack_upper(ec_round_as(v, EC_F16, EC_TRUNCATE)), 2 * n); break;
    case EC_F8: ec_store_bytes(p, ec_pack_highest(ec_round_as(v, EC_F8, EC_TRUNCATE)), n); break;
    case EC_Q8: ec_store_bytes(p, ec_pack_highest(ec_round_q8(v, fmt)), n); break;
    case EC_Q16: ec_store_bytes(p, ec_pack_upper(ec_round_q16(v, fmt)), 2 * n); break;
    default: ec_store_n((float *)p, v, n);
    }
}
EC_INLINE void ec_store_as(void *p, ec_vec v, int fmt)
{
    if (fmt == EC_F32)
        ec_store((float *)p, v);
    else
        ec_store_as_n(p, v, EC_VL, fmt);
}

#endif
