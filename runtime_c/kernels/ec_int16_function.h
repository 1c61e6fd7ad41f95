/* Functions of one integer of 16 bits or eight, or of two, rounded once to such an integer (ec_int16_scaling.h).
   An operand of the result's size and bytes may be the result.  Whoever chooses the numbers proves that nothing
   overflows and that results are what the model says.  Needs ec_int16_scaling.h, ec_int16_doubled.h, ec_nest.h and,
   of the kinds from EC_INT16_DOUBLED_PRELU on, ec_int16_doubled_pairs.h. */
#ifndef EC_INT16_FUNCTION_H
#define EC_INT16_FUNCTION_H

enum ec_int16_kind {
    EC_INT16_SUM,     /* a by_a + b by_b + offset: factors of 64 bits as lower words, which are signed, and upper ones */
    EC_INT16_PRODUCT, /* (a - zero_a) (b - zero_b) */
    EC_INT16_LINE,    /* a */
    EC_INT16_SIDES,   /* a; where it is below zero_a by the last four words */
    EC_INT16_MOVED,   /* a + zero_a is the result */
    EC_INT16_CURVE,   /* ec_int16_of_curve */
    EC_INT16_SIGMOID, /* ec_short_sigmoid of a times word 0, over 2^(word 1), halves up */
    EC_INT16_TANH,    /* ec_short_tanh likewise */
    EC_INT16_DOUBLED, /* a - zero_a, by words 0 and 1 (ec_int16_doubled) */
    EC_INT16_DOUBLED_PRODUCT, /* (a - zero_a) (b - zero_b), by words 0 and 1 */
    EC_INT16_DOUBLED_SUM, /* (a - zero_a) 2^15 by words 0 and 1, b likewise by 2 and 3 and times word 6; by 4 and 5 */
    EC_INT16_DOUBLED_PRELU,  /* ec_int16_prelu of what lies above the zero points */
    EC_INT16_DOUBLED_SIDES,  /* likewise, of a and 1 */
    EC_INT16_DOUBLED_SQUARES /* ec_int16_squared_difference likewise */
};

/* words: of ec_int16_of_sum.  cut: of products that may not fit 32 bits.  width, bits: of a curve. */
typedef struct ec_int16_function {
    int kind, a_bytes, b_bytes;
    int32_t zero_a, zero_b;
    int32_t by_a[2], by_b[2];
    int64_t offset;
    int32_t words[8];
    int cut, width, bits;
    ec_int16_result result;
} ec_int16_function;

/* Of line i >> width of i = a + 32768 (start, slope): start + slope (i mod 2^width) without its lower 14 bits, and
   bit i of those that begin at word `bits`. */
EC_INLINE int32_t ec_int16_of_curve(const int32_t *lines, int width, int bits, int32_t a)
{
    const uint32_t i = (uint32_t)(a + 32768);
    const int32_t *const line = lines + 2 * (i >> width);
    const int32_t below = (line[0] + line[1] * (int32_t)(i & ((1u << width) - 1))) >> 14;
    return below + (int32_t)((uint32_t)lines[bits + (i >> 5)] >> (i & 31) & 1);
}

EC_INLINE int32_t ec_int16_of_doubled(const ec_int16_function *by, int32_t a, int32_t b)
{
    const int32_t *const words = by->words, from_a = a - by->zero_a, from_b = b - by->zero_b;
#ifdef EC_INT16_DOUBLED_PAIRS_H
    if (by->kind >= EC_INT16_DOUBLED_PRELU) {
        const int32_t found = by->kind == EC_INT16_DOUBLED_SQUARES ? ec_int16_squared_difference(words, from_a, from_b)
                              : by->kind == EC_INT16_DOUBLED_PRELU ? ec_int16_prelu(words, from_a, from_b)
                                                                   : ec_int16_prelu(words, from_a, 1);
        return ec_min_i(ec_max_i(by->result.zero + found, by->result.low), by->result.high);
    }
#endif
    int32_t q = from_a;
    if (by->kind == EC_INT16_DOUBLED_PRODUCT)
        q = from_a * from_b;
    if (by->kind == EC_INT16_DOUBLED_SUM)
        q = ec_int16_doubled(from_a * 32768, words[0], words[1]) +
            words[6] * ec_int16_doubled(from_b * 32768, words[2], words[3]);
    const int of_sum = by->kind == EC_INT16_DOUBLED_SUM ? 4 : 0;
    q = by->result.zero + ec_int16_doubled(q, words[of_sum], words[of_sum + 1]);
    return ec_min_i(ec_max_i(q, by->result.low), by->result.high);
}

EC_INLINE int32_t ec_int16_of_pair(const ec_int16_function *by, int32_t a, int32_t b)
{
    if (by->kind >= EC_INT16_DOUBLED)
        return ec_int16_of_doubled(by, a, b);
    if (by->kind == EC_INT16_PRODUCT) {
        const int32_t from_a = a - by->zero_a, from_b = b - by->zero_b;
        const int32_t of_both = by->cut ? ec_int16_cut((int64_t)from_a * from_b) : from_a * from_b;
        return ec_int16_of_sum(by->result, of_both, by->words, 1);
    }
    const int64_t low = by->offset + (int64_t)a * by->by_a[0] + (int64_t)b * by->by_b[0];
    const uint32_t high = (uint32_t)a * (uint32_t)by->by_a[1] + (uint32_t)b * (uint32_t)by->by_b[1];
    return ec_int16_rounded(by->result, (int64_t)((uint64_t)low + ((uint64_t)high << 32)));
}

#ifdef EC_SHORT_SIGMOID_H
EC_INLINE int32_t ec_int16_of_sigmoid(const ec_int16_function *by, const uint16_t *table, int32_t a)
{
    const int32_t half = (int32_t)((1u << by->words[1]) >> 1); /* of 31 places at most */
    const int32_t argument = (a * by->words[0] + half) >> by->words[1];
    const int32_t q = by->kind == EC_INT16_TANH ? ec_short_tanh(table, argument) : ec_short_sigmoid(table, argument);
    return ec_min_i(ec_max_i(q, by->result.low), by->result.high);
}
#endif

EC_INLINE int32_t ec_int16_of_one(const ec_int16_function *by, const void *table, int32_t a)
{
    if (by->kind >= EC_INT16_DOUBLED)
        return ec_int16_of_doubled(by, a, 0);
    if (by->kind == EC_INT16_CURVE)
        return ec_int16_of_curve(table, by->width, by->bits, a);
#ifdef EC_SHORT_SIGMOID_H
    if (by->kind == EC_INT16_SIGMOID || by->kind == EC_INT16_TANH)
        return ec_int16_of_sigmoid(by, table, a);
#endif
    if (by->kind == EC_INT16_MOVED)
        return ec_min_i(ec_max_i(a + by->zero_a, by->result.low), by->result.high);
    if (by->kind == EC_INT16_SIDES && a < by->zero_a)
        return ec_int16_of_sum(by->result, a, by->words + 4, 1);
    return ec_int16_of_sum(by->result, a, by->words, 1);
}

/* A function with its factors in registers: compilers take products of 64 bits with constants apart. */
EC_INLINE ec_int16_function ec_int16_kept(ec_int16_function by)
{
#if defined(__GNUC__) || defined(__clang__)
    if (by.kind == EC_INT16_SUM)
        __asm__("" : "+r"(by.by_a[0]), "+r"(by.by_a[1]), "+r"(by.by_b[0]), "+r"(by.by_b[1]));
    else
        __asm__("" : "+r"(by.words[0]), "+r"(by.words[1]));
#endif
    return by;
}

/* n elements in any order.  table: int32 of a curve, uint16 of sigmoid and tanh. */
EC_INLINE void ec_int16_apply(const ec_int16_function given, const void *a, const void *table, void *out, int n)
{
    const ec_int16_function by = ec_int16_kept(given);
    for (int i = 0; i < n; i++)
        ec_int16_put(out, by.result.bytes, i, ec_int16_of_one(&by, table, ec_int16_get(a, by.a_bytes, i)));
}

/* Where pairs lie, as those of ec_binary do. */
typedef struct ec_int16_pairs {
    ec_nest outer;
    int rows, n;
    ptrdiff_t a_outer[EC_DIMS], b_outer[EC_DIMS];
    ptrdiff_t a_row, b_row;
    int a_stride, b_stride;
} ec_int16_pairs;

EC_INLINE void ec_int16_combine(const ec_int16_pairs at, const ec_int16_function given, const void *a, const void *b,
                                void *out)
{
    const ec_int16_function by = ec_int16_kept(given);
    ptrdiff_t i = 0;
    for (int k = 0; k < ec_nest_count(&at.outer); k++) {
        ptrdiff_t of_a = ec_nest_offset(&at.outer, at.a_outer, k), of_b = ec_nest_offset(&at.outer, at.b_outer, k);
        for (int r = 0; r < at.rows; r++, of_a += at.a_row, of_b += at.b_row)
            for (int x = 0; x < at.n; x++, i++) {
                const int32_t of_one = ec_int16_get(a, by.a_bytes, of_a + x * at.a_stride);
                ec_int16_put(out, by.result.bytes, i,
                             ec_int16_of_pair(&by, of_one, ec_int16_get(b, by.b_bytes, of_b + x * at.b_stride)));
            }
    }
}

#endif
