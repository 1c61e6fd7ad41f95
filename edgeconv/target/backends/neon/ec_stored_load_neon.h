/* Loads that 64-bit and 32-bit NEON spell alike, of what they spell each in its own way.  Included by
   their headers. */

/* Four bits each, of two bytes that every lane has in its upper half: shifted to the top, then down
   again with their sign. */
EC_INLINE ec_vec ec_load_int4(const void *p)
{
    const int32x4_t up = {12, 8, 4, 0};
    const int32x4_t four = vreinterpretq_s32_u16(ec_dup_two_bytes(p));
    return vcvtq_f32_s32(vshrq_n_s32(vshlq_s32(four, up), 28));
}

EC_INLINE ec_vec ec_load_int8(const void *p)
{
    return vcvtq_n_f32_s32(vreinterpretq_s32_u32(ec_load_highest(p)), 24);
}
EC_INLINE ec_vec ec_load_int16(const void *p)
{
    return vcvtq_f32_s32(vmovl_s16(vreinterpret_s16_u8(vld1_u8((const uint8_t *)p))));
}
EC_INLINE ec_vec ec_load_as(const void *p, int fmt)
{
    switch (EC_KIND(fmt)) {
    case EC_F24: return vreinterpretq_f32_u8(ec_load_flyte24((const uint8_t *)p));
    case EC_F16:
        return vreinterpretq_f32_u32(
            vshll_n_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p)), 16));
    case EC_F8: return vreinterpretq_f32_u32(ec_load_highest(p));
    case EC_I8: return ec_load_int8(p);
    case EC_I4: return ec_load_int4(p);
    case EC_Q8: return ec_from_q8(ec_load_int8(p), 1.0f, fmt);
    case EC_Q16: return ec_from_q8(ec_load_int16(p), 1.0f, fmt);
    default: return ec_load((const float *)p);
    }
}
EC_INLINE ec_vec ec_load_at(const void *p, ptrdiff_t i, int fmt)
{
    return ec_load_as((const char *)p + EC_STORED_SPAN(fmt, i), fmt);
}
