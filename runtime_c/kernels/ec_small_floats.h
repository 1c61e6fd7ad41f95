/* Real numbers of 4 and 8 bits: those of "FP8 Formats for Deep Learning" (Micikevicius et al., 2022), of
   "8-bit Numerical Formats for Deep Neural Networks" (Noune et al., 2022), and the elements and scales
   of the OCP Microscaling Formats (2023).  One byte each. */
#ifndef EC_SMALL_FLOATS_H
#define EC_SMALL_FLOATS_H

/* Bits of the mantissa and what is added to exponents.  `largest` is the code of the largest number,
   `infinity` and `nan` are those of what they say, 0 where there is none; with one zero alone 0x80 is the NaN. */
typedef struct ec_small_float {
    int mantissa, bias, sign; /* sign: its bit */
    int largest, infinity, nan;
} ec_small_float;

/* What becomes of numbers that are too large: the largest one, or the infinity or NaN that there is.  NaN is -0 where there is none.
   What is rounded goes to nearest, ties to even. */
enum ec_overflow { EC_SATURATES, EC_OVERFLOWS };

EC_INLINE float ec_from_small(ec_small_float form, int code)
{
    const int size = code & (form.sign - 1), negative = code & form.sign, one_zero = form.nan == form.sign;
    if (one_zero ? code == form.nan : form.nan && size > form.largest && size != form.infinity)
        return ec_from_bits(0x7fc00000u);
    if (form.infinity && size == form.infinity)
        return ec_from_bits(negative ? 0xff800000u : 0x7f800000u);
    const int exponent = size >> form.mantissa, fraction = size & ((1 << form.mantissa) - 1);
    const float unit = ec_from_bits((uint32_t)(128 - form.bias - form.mantissa) << 23);
    const float number = exponent ? ec_from_bits((uint32_t)(exponent + 127 - form.bias) << 23 |
                                                 (uint32_t)fraction << (23 - form.mantissa))
                                  : (float)fraction * unit;
    return negative ? -number : number;
}

EC_INLINE int ec_to_small(ec_small_float form, float x, int overflow)
{
    const uint32_t bits = ec_bits(x), size = bits & 0x7fffffffu;
    const int negative = bits >> 31 ? form.sign : 0, one_zero = form.nan == form.sign;
    if (size > 0x7f800000u)
        return one_zero || !form.nan ? form.sign : negative | form.nan;
    const uint32_t smallest = (uint32_t)(128 - form.bias) << 23; /* with all of its bits */
    const int dropped = 23 - form.mantissa;
    int code;
    if (size < smallest) { /* the sum has the unit of the form in its last place */
        const float shift = ec_from_bits((uint32_t)(128 - form.bias + dropped) << 23);
        code = (int)(ec_bits(ec_from_bits(size) + shift) - ec_bits(shift));
    } else if (size < 0x7f800000u) {
        const uint32_t half = (1u << (dropped - 1)) - 1u + (size >> dropped & 1u);
        code = (int)((size + half) >> dropped) - ((127 - form.bias) << form.mantissa);
    } else
        code = form.sign;
    if (code > form.largest)
        code = overflow == EC_SATURATES ? form.largest : form.infinity ? form.infinity : form.nan;
    return one_zero && (code == 0 || code == form.nan) ? code : negative | code;
}

/* Scales, which are powers of two: 2^(code - 127), of 255 NaN. */
EC_INLINE float ec_from_power(int code)
{
    return ec_from_bits(code == 255 ? 0x7fc00000u : code ? (uint32_t)code << 23 : 0x00400000u);
}

enum ec_power_rounding { EC_POWER_UP, EC_POWER_DOWN, EC_POWER_NEAREST };

EC_INLINE int ec_to_power(float x, int rounding, int overflow)
{
    const uint32_t size = ec_bits(x) & 0x7fffffffu, exponent = size >> 23, fraction = size & 0x7fffffu;
    if (size >= 0x7f800000u)
        return size > 0x7f800000u || overflow != EC_SATURATES ? 255 : 254;
    int up = rounding == EC_POWER_UP ? fraction > 0 : rounding == EC_POWER_NEAREST && fraction >= 0x400000u;
    if (exponent == 0) /* 2^-127 has half of the smallest normal number's bits */
        up = rounding == EC_POWER_UP ? fraction > 0x400000u : rounding == EC_POWER_NEAREST && fraction > 0x600000u;
    const int code = (int)exponent + up;
    return code > 254 ? (overflow == EC_SATURATES ? 254 : 255) : code;
}

#endif
