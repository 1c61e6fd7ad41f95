/* Functions of angles, of hyperbolas and their inverses, one number at a time, without libm: within 4 ulp,
   those that tend to zero with their argument included.  Needs ec_common.h. */
#ifndef EC_TRIGONOMETRY_H
#define EC_TRIGONOMETRY_H

#define EC_NAN ec_from_bits(0x7fc00000u)
#define EC_HALF_PI 1.57079633f

EC_INLINE float ec_size_of(float x) { return ec_from_bits(ec_bits(x) & 0x7fffffffu); }
EC_INLINE float ec_with_sign(float size, float x) { return ec_bits(x) >> 31 ? -size : size; }
EC_INLINE int ec_is_number(float x) { return (ec_bits(x) & 0x7f800000u) != 0x7f800000u; }

/* c[0] x^(n - 1) + ... + c[n - 1] */
EC_INLINE float ec_polynomial(float x, const float *c, int n)
{
    float y = c[0];
    for (int i = 1; i < n; i++)
        y = y * x + c[i];
    return y;
}

/* The root of x >= 0 by Newton's method, from an estimate within 4 %. */
EC_INLINE float ec_root(float x)
{
    if (!(x > 0.0f) || !ec_is_number(x))
        return x == 0.0f || x > 0.0f ? x : EC_NAN;
    const float scale = x < 1.17549435e-38f ? 4096.0f : 1.0f, number = x * scale * scale;
    float y = ec_from_bits((ec_bits(number) >> 1) + 0x1fbb4f2eu);
    for (int i = 0; i < 3; i++)
        y = 0.5f * (y + number / y);
    return y / scale;
}

/* e^x, |x| <= 45 */
EC_INLINE float ec_power_of_e(float x)
{
    static const float c[] = {1.98756915e-4f, 1.39819995e-3f, 8.33345191e-3f,
                              4.16657960e-2f, 1.66666655e-1f, 0.5f};
    const int n = (int)(x * 1.44269504f + (x < 0.0f ? -0.5f : 0.5f));
    const float r = x - (float)n * 0.693359375f + (float)n * 2.12194440e-4f; /* ln(2) in two parts */
    return (ec_polynomial(r, c, 6) * r * r + r + 1.0f) * ec_from_bits((uint32_t)(n + 127) << 23);
}

/* log((1 + x) / (1 - x)), |x| <= 0.18 */
EC_INLINE float ec_log_ratio(float x)
{
    static const float c[] = {1.0f / 9.0f, 1.0f / 7.0f, 1.0f / 5.0f, 1.0f / 3.0f};
    const float z = x * x;
    return 2.0f * (x + x * z * ec_polynomial(z, c, 4));
}

/* log(1 + x), x >= 0 */
EC_INLINE float ec_log_above(float x)
{
    if (x < 0.41421356f)
        return ec_log_ratio(x / (2.0f + x));
    const float u = 1.0f + x;
    const int exponent = (int)((ec_bits(u) - 0x3f3504f3u) >> 23); /* of u / sqrt(1/2) */
    const float m = ec_from_bits(ec_bits(u) - ((uint32_t)exponent << 23));
    return (float)exponent * 0.693359375f +
           (ec_log_ratio((m - 1.0f) / (m + 1.0f)) - (float)exponent * 2.12194440e-4f);
}

/* What is left of |x| beyond the nearest multiple of pi/2, which is `quarters` of them (modulo 4).  In whole
   numbers, with as many bits of 2/pi as matter (Payne and Hanek, "Radian reduction for trigonometric functions",
   1983): what comes before them makes multiples of 4. */
EC_INLINE float ec_angle(float x, int *quarters)
{
    static const uint32_t two_over_pi[] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                           0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const float size = ec_size_of(x);
    *quarters = 0;
    if (size < 0.785398163f)
        return size;
    const uint64_t mantissa = (ec_bits(size) & 0x7fffffu) | 0x800000u;
    const int first = (int)(ec_bits(size) >> 23) - 120; /* bit of the table */
    uint64_t w[3];
    for (int i = 0; i < 3; i++) {
        const uint32_t *const at = two_over_pi + first / 32 + i;
        w[i] = (((uint64_t)at[0] << 32 | at[1]) << first % 32) >> 32;
    }
    /* in units of 2^-62 quarters, modulo 4 */
    const uint64_t turned = (mantissa * w[0] << 32) + mantissa * w[1] + (mantissa * w[2] >> 32);
    const uint64_t nearest = (turned + (1ull << 61)) >> 62;
    *quarters = (int)(nearest & 3u);
    return (float)(int64_t)(turned - (nearest << 62)) * 3.40612158e-19f; /* pi/2 2^-62 */
}

/* Of an angle up to pi/4. */
EC_INLINE float ec_sine_of(float x)
{
    static const float c[] = {-1.95152959e-4f, 8.33216087e-3f, -1.66666546e-1f};
    const float z = x * x;
    return x + x * z * ec_polynomial(z, c, 3);
}
EC_INLINE float ec_cosine_of(float x)
{
    static const float c[] = {2.44331571e-5f, -1.38873163e-3f, 4.16666457e-2f};
    const float z = x * x;
    return 1.0f - 0.5f * z + z * z * ec_polynomial(z, c, 3);
}

/* The sine of |x| and so many quarters. */
EC_INLINE float ec_turned(float x, int quarters)
{
    int of_x;
    if (!ec_is_number(x))
        return EC_NAN;
    const float r = ec_angle(x, &of_x);
    const int turn = of_x + quarters;
    const float y = turn & 1 ? ec_cosine_of(r) : ec_sine_of(r);
    return turn & 2 ? -y : y;
}

EC_INLINE float ec_cos(float x) { return ec_turned(x, 1); }
EC_INLINE float ec_sin(float x)
{
    const float y = ec_turned(x, 0);
    return ec_bits(x) >> 31 ? -y : y;
}
EC_INLINE float ec_tan(float x)
{
    int quarters;
    if (!ec_is_number(x))
        return EC_NAN;
    const float r = ec_angle(x, &quarters), sine = ec_sine_of(r), cosine = ec_cosine_of(r);
    const float y = quarters & 1 ? -cosine / sine : sine / cosine;
    return ec_bits(x) >> 31 ? -y : y;
}

/* asin(x), x <= 1/2, z = x^2 */
EC_INLINE float ec_arc_of(float x, float z)
{
    static const float c[] = {4.21631990e-2f, 2.41813110e-2f, 4.54700260e-2f, 7.49530027e-2f,
                              1.66667524e-1f};
    return x + x * z * ec_polynomial(z, c, 5);
}

EC_INLINE float ec_asin(float x)
{
    const float size = ec_size_of(x), z = size > 0.5f ? 0.5f * (1.0f - size) : size * size;
    const float y = size > 0.5f ? EC_HALF_PI - 2.0f * ec_arc_of(ec_root(z), z) : ec_arc_of(size, z);
    return ec_with_sign(y, x);
}
EC_INLINE float ec_acos(float x)
{
    const float size = ec_size_of(x), z = 0.5f * (1.0f - size);
    if (size <= 0.5f)
        return EC_HALF_PI - ec_with_sign(ec_arc_of(size, size * size), x);
    const float y = 2.0f * ec_arc_of(ec_root(z), z);
    return x < 0.0f ? 2.0f * EC_HALF_PI - y : y;
}
EC_INLINE float ec_atan(float x)
{
    static const float c[] = {8.05374450e-2f, -1.38776856e-1f, 1.99777106e-1f, -3.33329492e-1f};
    const float size = ec_size_of(x);
    const float start = size > 2.41421356f ? EC_HALF_PI : size > 0.414213562f ? 0.5f * EC_HALF_PI : 0.0f;
    const float r = size > 2.41421356f    ? -1.0f / size
                    : size > 0.414213562f ? (size - 1.0f) / (size + 1.0f)
                                          : size;
    const float z = r * r;
    return ec_with_sign(start + (r + r * z * ec_polynomial(z, c, 4)), x);
}

EC_INLINE float ec_sinh(float x)
{
    static const float c[] = {1.0f / 362880.0f, 1.0f / 5040.0f, 1.0f / 120.0f, 1.0f / 6.0f};
    const float size = ec_size_of(x);
    if (size < 1.0f)
        return x + x * (x * x) * ec_polynomial(x * x, c, 4);
    if (!ec_is_number(x))
        return x;
    const float root = ec_power_of_e(size < 90.0f ? 0.5f * size : 45.0f); /* its square may overflow */
    return ec_with_sign(0.5f * root * root - 0.5f / root / root, x);
}
EC_INLINE float ec_cosh(float x)
{
    const float size = ec_size_of(x);
    if (!ec_is_number(x))
        return size;
    const float root = ec_power_of_e(size < 90.0f ? 0.5f * size : 45.0f);
    return 0.5f * root * root + 0.5f / root / root;
}
EC_INLINE float ec_asinh(float x)
{
    const float size = ec_size_of(x);
    if (!ec_is_number(x))
        return x;
    const float y = size > 1e9f ? ec_log_above(size) + 0.693147181f
                                : ec_log_above(size + size * size / (1.0f + ec_root(1.0f + size * size)));
    return ec_with_sign(y, x);
}
EC_INLINE float ec_acosh(float x)
{
    const float above = x - 1.0f;
    if (!(above >= 0.0f) || !ec_is_number(x))
        return above > 0.0f ? x : EC_NAN;
    return above > 1e9f ? ec_log_above(above) + 0.693147181f
                        : ec_log_above(above + ec_root(above * (2.0f + above)));
}
EC_INLINE float ec_atanh(float x)
{
    const float size = ec_size_of(x);
    if (!(size <= 1.0f))
        return EC_NAN;
    if (size == 1.0f)
        return ec_with_sign(ec_from_bits(0x7f800000u), x);
    const float y = size < 0.17f ? ec_log_ratio(size) : ec_log_above(2.0f * size / (1.0f - size));
    return ec_with_sign(0.5f * y, x);
}

#endif
