/* Functions of up to three tensors of any element types, with broadcasting.  An operand of the output's
   size whose elements are as wide may be the output.  Needs ec_nest.h, ec_elements.h and
   ec_trigonometry.h. */
#ifndef EC_ELEMENTWISE_H
#define EC_ELEMENTWISE_H

/* Of whole and natural numbers; those below the line of single ones too. */
enum ec_function {
    EC_OF_BITWISE_AND,
    EC_OF_BITWISE_OR,
    EC_OF_BITWISE_XOR,
    EC_OF_BITWISE_NOT,
    EC_OF_NOT,
    EC_OF_SHIFT_LEFT,
    EC_OF_SHIFT_RIGHT,
    EC_OF_POWER,
    /* */
    EC_OF_COPY,
    /* to a small float: what is too large overflows; of scales those rounded otherwise than up */
    EC_OF_COPY_OVERFLOWING,
    EC_OF_COPY_DOWN,
    EC_OF_COPY_NEAREST,
    EC_OF_ADD,
    EC_OF_SUB,
    EC_OF_MUL,
    EC_OF_DIV,       /* of whole numbers toward zero; by zero it is zero */
    EC_OF_MODULO,    /* what is left has the sign of b */
    EC_OF_REMAINDER, /* that of a */
    EC_OF_MIN,
    EC_OF_MAX,
    EC_OF_NEG,
    EC_OF_ABS,
    EC_OF_SIGN,
    EC_OF_THRESHOLD,   /* a > b ? a : 0 */
    EC_OF_HARD_SHRINK, /* |a| > b ? a : 0 */
    EC_OF_SOFT_SHRINK, /* toward zero by b */
    EC_OF_SIN,
    EC_OF_COS,
    EC_OF_TAN,
    EC_OF_ASIN,
    EC_OF_ACOS,
    EC_OF_ATAN,
    EC_OF_SINH,
    EC_OF_COSH,
    EC_OF_ASINH,
    EC_OF_ACOSH,
    EC_OF_ATANH,
    /* 0 or 1 */
    EC_OF_EQUAL,
    EC_OF_LESS,
    EC_OF_LESS_EQUAL,
    EC_OF_GREATER,
    EC_OF_GREATER_EQUAL,
    EC_OF_IS_NAN,
    EC_OF_IS_INFINITE,
    EC_OF_IS_POSITIVE_INFINITE,
    EC_OF_IS_NEGATIVE_INFINITE,
    EC_OF_GREATER_NAN_FIRST, /* of two numbers, where NaN is more than any other */
    EC_OF_LESS_NAN_LAST
};

/* As what elements are read, and what is written. */
enum ec_numbers {
    EC_WHOLE,
    EC_NATURAL,
    EC_SINGLE,
    EC_DOUBLE,
    EC_TEST_OF_WHOLE,
    EC_TEST_OF_NATURAL,
    EC_TEST_OF_SINGLE,
    EC_TEST_OF_DOUBLE,
    EC_CHOICE_OF_WHOLE, /* a ? b : c */
    EC_CHOICE_OF_SINGLE,
    EC_CHOICE_OF_DOUBLE,
    EC_WHOLE_TO_REAL,
    EC_NATURAL_TO_REAL,
    EC_REAL_TO_WHOLE,
    EC_REAL_TO_NATURAL,
    EC_REAL_TO_BOOL,
    EC_REAL_TO_REAL
};

/* out[i][k] over a nest of outer loops and n elements; the output is dense.  Operands move by their outer
   strides and by a stride; those that a function does not have are a.  All members are constants at
   the call. */
typedef struct ec_elementwise {
    int numbers, function;
    ec_nest outer;
    int n;
    ptrdiff_t a_outer[EC_DIMS], b_outer[EC_DIMS], c_outer[EC_DIMS];
    ptrdiff_t a_stride, b_stride, c_stride;
    int a_as, b_as, c_as, out_as; /* element types */
} ec_elementwise;

/* Sums, differences and products are those modulo 2^64. */
EC_INLINE int64_t ec_power_whole(int64_t a, int64_t b)
{
    uint64_t product = 1u, factor = (uint64_t)a;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;
    for (; b; b >>= 1, factor *= factor)
        product *= b & 1 ? factor : 1u;
    return (int64_t)product;
}

EC_INLINE int64_t ec_remainder_whole(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

EC_INLINE int64_t ec_modulo_whole(int64_t a, int64_t b)
{
    const int64_t left = ec_remainder_whole(a, b);
    return left && (left < 0) != (b < 0) ? left + b : left;
}

EC_INLINE int64_t ec_of_whole(int function, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    (void)x, (void)y; /* what some functions need */
    switch (function) {
    case EC_OF_BITWISE_AND: return a & b;
    case EC_OF_BITWISE_OR: return a | b;
    case EC_OF_BITWISE_XOR: return a ^ b;
    case EC_OF_BITWISE_NOT: return ~a;
    case EC_OF_NOT: return !a;
    case EC_OF_SHIFT_LEFT: return y < 64 ? (int64_t)(x << y) : 0;
    case EC_OF_SHIFT_RIGHT: return y < 64 ? a >> b : a < 0 ? -1 : 0; /* with the sign */
    case EC_OF_POWER: return ec_power_whole(a, b);
    case EC_OF_ADD: return (int64_t)(x + y);
    case EC_OF_SUB: return (int64_t)(x - y);
    case EC_OF_MUL: return (int64_t)(x * y);
    case EC_OF_DIV: return b == 0 ? 0 : b == -1 ? (int64_t)(0u - x) : a / b;
    case EC_OF_MODULO: return ec_modulo_whole(a, b);
    case EC_OF_REMAINDER: return ec_remainder_whole(a, b);
    case EC_OF_MIN: return a < b ? a : b;
    case EC_OF_MAX: return a > b ? a : b;
    case EC_OF_NEG: return (int64_t)(0u - x);
    case EC_OF_ABS: return a < 0 ? (int64_t)(0u - x) : a;
    case EC_OF_SIGN: return (a > 0) - (a < 0);
    default: return a;
    }
}

EC_INLINE int64_t ec_of_natural(int function, uint64_t a, uint64_t b)
{
    (void)b;
    switch (function) {
    case EC_OF_SHIFT_RIGHT: return b < 64 ? (int64_t)(a >> b) : 0;
    case EC_OF_DIV: return b ? (int64_t)(a / b) : 0;
    case EC_OF_MODULO: return b ? (int64_t)(a % b) : 0;
    case EC_OF_REMAINDER: return b ? (int64_t)(a % b) : 0;
    case EC_OF_MIN: return (int64_t)(a < b ? a : b);
    case EC_OF_MAX: return (int64_t)(a > b ? a : b);
    case EC_OF_ABS: return (int64_t)a;
    case EC_OF_SIGN: return a != 0;
    default: return ec_of_whole(function, (int64_t)a, (int64_t)b);
    }
}

/* a - b trunc(a / b), exactly, for b of any size: of the quotient some bits at a time. */
EC_INLINE float ec_remainder_single(float a, float b)
{
    const uint32_t x = ec_bits(a) & 0x7fffffffu, y = ec_bits(b) & 0x7fffffffu;
    if (x >= 0x7f800000u || y > 0x7f800000u || y == 0)
        return ec_from_bits(0x7fc00000u);
    if (x < y)
        return a;
    const int of_x = (int)(x >> 23), of_y = (int)(y >> 23); /* exponents; 0 is that of 1, too */
    uint64_t left = of_x ? (x & 0x7fffffu) | 0x800000u : x;
    const uint64_t by = of_y ? (y & 0x7fffffu) | 0x800000u : y;
    int shift = ec_max_i(of_x, 1) - ec_max_i(of_y, 1);
    left %= by;
    while (shift > 0 && left) {
        const int bits = ec_min_i(shift, 40);
        left = (left << bits) % by;
        shift -= bits;
    }
    /* times a power of two, in two steps that are both exact */
    const int exponent = ec_max_i(of_y, 1) - 150, half = exponent / 2;
    const float size = (float)(uint32_t)left * ec_from_bits((uint32_t)(half + 127) << 23) *
                       ec_from_bits((uint32_t)(exponent - half + 127) << 23);
    return ec_bits(a) >> 31 ? -size : size;
}

EC_INLINE float ec_modulo_single(float a, float b)
{
    const float left = ec_remainder_single(a, b);
    return left != 0.0f && (left < 0.0f) != (b < 0.0f) ? left + b : left;
}

/* What reads alike for float and double. */
#define EC_REAL_CASES(a, b)                      \
    case EC_OF_ADD: return a + b;                \
    case EC_OF_SUB: return a - b;                \
    case EC_OF_MUL: return a * b;                \
    case EC_OF_DIV: return a / b;                \
    case EC_OF_MIN: return a < b || a != a ? a : b; \
    case EC_OF_MAX: return a > b || a != a ? a : b; \
    case EC_OF_NEG: return -a;                   \
    case EC_OF_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a * 0;

EC_INLINE float ec_of_single(int function, float a, float b)
{
    (void)b;
    switch (function) {
    EC_REAL_CASES(a, b)
    case EC_OF_MODULO: return ec_modulo_single(a, b);
    case EC_OF_REMAINDER: return ec_remainder_single(a, b);
    case EC_OF_ABS: return ec_from_bits(ec_bits(a) & 0x7fffffffu);
    case EC_OF_THRESHOLD: return a > b ? a : 0.0f;
    case EC_OF_HARD_SHRINK: return a < -b || a > b ? a : 0.0f;
    case EC_OF_SOFT_SHRINK: return a < -b ? a + b : a > b ? a - b : 0.0f;
    case EC_OF_SIN: return ec_sin(a);
    case EC_OF_COS: return ec_cos(a);
    case EC_OF_TAN: return ec_tan(a);
    case EC_OF_ASIN: return ec_asin(a);
    case EC_OF_ACOS: return ec_acos(a);
    case EC_OF_ATAN: return ec_atan(a);
    case EC_OF_SINH: return ec_sinh(a);
    case EC_OF_COSH: return ec_cosh(a);
    case EC_OF_ASINH: return ec_asinh(a);
    case EC_OF_ACOSH: return ec_acosh(a);
    case EC_OF_ATANH: return ec_atanh(a);
    default: return a;
    }
}

EC_INLINE double ec_of_double(int function, double a, double b)
{
    (void)b;
    switch (function) {
    EC_REAL_CASES(a, b)
    case EC_OF_ABS: return a < 0.0 ? -a : a + 0.0; /* of -0, too */
    default: return a;
    }
}

/* What reads alike for all numbers, and for real ones. */
#define EC_TEST_CASES(a, b)                  \
    case EC_OF_LESS: return a < b;           \
    case EC_OF_LESS_EQUAL: return a <= b;    \
    case EC_OF_GREATER: return a > b;        \
    case EC_OF_GREATER_EQUAL: return a >= b; \
    default: return a == b;
#define EC_REAL_TEST_CASES(a, b)                                 \
    case EC_OF_IS_NAN: return a != a;                            \
    case EC_OF_IS_INFINITE: return a == a && a - a != 0;         \
    case EC_OF_IS_POSITIVE_INFINITE: return a > 0 && a - a != 0; \
    case EC_OF_IS_NEGATIVE_INFINITE: return a < 0 && a - a != 0; \
    case EC_OF_GREATER_NAN_FIRST: return a > b || (a != a && b == b); \
    case EC_OF_LESS_NAN_LAST: return a < b || (a == a && b != b);

EC_INLINE int ec_test_of_whole(int function, int64_t a, int64_t b)
{
    switch (function) { EC_TEST_CASES(a, b) }
}
EC_INLINE int ec_test_of_natural(int function, uint64_t a, uint64_t b)
{
    switch (function) { EC_TEST_CASES(a, b) }
}
EC_INLINE int ec_test_of_single(int function, float a, float b)
{
    switch (function) { EC_REAL_TEST_CASES(a, b) EC_TEST_CASES(a, b) }
}
EC_INLINE int ec_test_of_double(int function, double a, double b)
{
    switch (function) { EC_REAL_TEST_CASES(a, b) EC_TEST_CASES(a, b) }
}

/* float32 is rounded once; other types have all of what double has not lost. */
EC_INLINE void ec_put_real_of_whole(void *p, ptrdiff_t i, int64_t x, int type)
{
    switch (type) {
    case EC_FLOAT32: ((float *)p)[i] = (float)x; break;
    default: ec_put_double(p, i, (double)x, type); break;
    }
}
EC_INLINE void ec_put_real_of_natural(void *p, ptrdiff_t i, uint64_t x, int type)
{
    switch (type) {
    case EC_FLOAT32: ((float *)p)[i] = (float)x; break;
    default: ec_put_double(p, i, (double)x, type); break;
    }
}

/* What is no plain copy is one to a small float. */
EC_INLINE int ec_overflowing(double x, int type)
{
    return type == EC_FLOAT8E8M0 ? ec_to_power(ec_to_odd(x), EC_POWER_UP, EC_OVERFLOWS)
                                 : ec_to_small(ec_small_float_of(type), ec_to_odd(x), EC_OVERFLOWS);
}

EC_INLINE int ec_rounded_power(double x, int rounding)
{
    return ec_to_power(ec_to_odd(x), rounding, EC_SATURATES);
}
EC_INLINE void ec_put_rounded(void *p, ptrdiff_t i, double x, int type, int function)
{
    switch (function) {
    case EC_OF_COPY_OVERFLOWING: ((uint8_t *)p)[i] = (uint8_t)ec_overflowing(x, type); break;
    case EC_OF_COPY_DOWN: ((uint8_t *)p)[i] = (uint8_t)ec_rounded_power(x, EC_POWER_DOWN); break;
    case EC_OF_COPY_NEAREST: ((uint8_t *)p)[i] = (uint8_t)ec_rounded_power(x, EC_POWER_NEAREST); break;
    default: ec_put_double(p, i, x, type); break;
    }
}

/* Element `to` of out, of elements a_at of a, b_at of b, c_at of c. */
EC_CHOICE void ec_elementwise_one(const ec_elementwise *spec, const void *a, ptrdiff_t a_at,
                                  const void *b, ptrdiff_t b_at, const void *c, ptrdiff_t c_at,
                                  void *out, ptrdiff_t to)
{
    const int of = spec->function, a_as = spec->a_as, b_as = spec->b_as, out_as = spec->out_as;
    (void)of, (void)b, (void)b_at, (void)b_as, (void)c, (void)c_at, (void)out_as;
    switch (spec->numbers) {
    case EC_WHOLE:
        ec_put_whole(out, to, ec_of_whole(of, ec_get_whole(a, a_at, a_as), ec_get_whole(b, b_at, b_as)),
                     out_as);
        break;
    case EC_NATURAL:
        ec_put_whole(out, to,
                     ec_of_natural(of, (uint64_t)ec_get_whole(a, a_at, a_as),
                                   (uint64_t)ec_get_whole(b, b_at, b_as)),
                     out_as);
        break;
    case EC_SINGLE:
        ec_put_single(out, to,
                      ec_of_single(of, ec_get_single(a, a_at, a_as), ec_get_single(b, b_at, b_as)), out_as);
        break;
    case EC_DOUBLE:
        ec_put_double(out, to,
                      ec_of_double(of, ec_get_double(a, a_at, a_as), ec_get_double(b, b_at, b_as)), out_as);
        break;
    case EC_TEST_OF_WHOLE:
        ((uint8_t *)out)[to] = (uint8_t)ec_test_of_whole(of, ec_get_whole(a, a_at, a_as),
                                                         ec_get_whole(b, b_at, b_as));
        break;
    case EC_TEST_OF_NATURAL:
        ((uint8_t *)out)[to] = (uint8_t)ec_test_of_natural(of, (uint64_t)ec_get_whole(a, a_at, a_as),
                                                           (uint64_t)ec_get_whole(b, b_at, b_as));
        break;
    case EC_TEST_OF_SINGLE:
        ((uint8_t *)out)[to] = (uint8_t)ec_test_of_single(of, ec_get_single(a, a_at, a_as),
                                                          ec_get_single(b, b_at, b_as));
        break;
    case EC_TEST_OF_DOUBLE:
        ((uint8_t *)out)[to] = (uint8_t)ec_test_of_double(of, ec_get_double(a, a_at, a_as),
                                                          ec_get_double(b, b_at, b_as));
        break;
    case EC_CHOICE_OF_WHOLE:
        ec_put_whole(out, to,
                     ec_get_whole(a, a_at, EC_BOOL) ? ec_get_whole(b, b_at, b_as)
                                                 : ec_get_whole(c, c_at, spec->c_as),
                     out_as);
        break;
    case EC_CHOICE_OF_SINGLE:
        ec_put_single(out, to,
                      ec_get_whole(a, a_at, EC_BOOL) ? ec_get_single(b, b_at, b_as)
                                                  : ec_get_single(c, c_at, spec->c_as),
                      out_as);
        break;
    case EC_CHOICE_OF_DOUBLE:
        ec_put_double(out, to,
                      ec_get_whole(a, a_at, EC_BOOL) ? ec_get_double(b, b_at, b_as)
                                                  : ec_get_double(c, c_at, spec->c_as),
                      out_as);
        break;
    case EC_WHOLE_TO_REAL: ec_put_real_of_whole(out, to, ec_get_whole(a, a_at, a_as), out_as); break;
    case EC_NATURAL_TO_REAL:
        ec_put_real_of_natural(out, to, (uint64_t)ec_get_whole(a, a_at, a_as), out_as);
        break;
    case EC_REAL_TO_WHOLE:
        ec_put_whole(out, to, ec_to_whole(ec_get_double(a, a_at, a_as)), out_as);
        break;
    case EC_REAL_TO_NATURAL:
        ec_put_whole(out, to, (int64_t)ec_to_natural(ec_get_double(a, a_at, a_as)), out_as);
        break;
    case EC_REAL_TO_BOOL: ((uint8_t *)out)[to] = ec_get_double(a, a_at, a_as) != 0.0; break;
    default: ec_put_rounded(out, to, ec_get_double(a, a_at, a_as), out_as, of); break; /* EC_REAL_TO_REAL */
    }
}

EC_INLINE void ec_elementwise_run(const ec_elementwise *spec, const void *a, const void *b,
                                  const void *c, void *out)
{
    const int count = ec_nest_count(&spec->outer);
    for (int row = 0; row < count; row++) {
        const ptrdiff_t i = ec_nest_offset(&spec->outer, spec->a_outer, row);
        const ptrdiff_t j = ec_nest_offset(&spec->outer, spec->b_outer, row);
        const ptrdiff_t k = ec_nest_offset(&spec->outer, spec->c_outer, row);
        for (int x = 0; x < spec->n; x++)
            ec_elementwise_one(spec, a, i + x * spec->a_stride, b, j + x * spec->b_stride, c,
                               k + x * spec->c_stride, out, (ptrdiff_t)row * spec->n + x);
    }
}

#endif
