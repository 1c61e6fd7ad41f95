/* Products of two int8 tensors that are both computed at run time, on cores with vectors: columns of b are packed to the
   workspace as filters of a 1 x 1 convolution are, and ec_gemm.h multiplies them with rows of a.
   Needs ec_nest.h and ec_gemm.h. */
#ifndef EC_PRODUCT_H
#define EC_PRODUCT_H

/* Words of filters that follow each other and lie in another order, of every four filters: byte or number i of a vector is
   number taken[i] % numbers, of those in the words, of filter taken[i] / numbers. */
typedef struct ec_interleave {
    int words, numbers;
    const unsigned char *taken;
} ec_interleave;

/* Operand b: n columns of k numbers.  wide: columns of a tile; group, block: numbers of a word, and words of a column that
   belong together; element: bytes of a number, of which two hold it less its zero point.  start: what a column's sum
   starts with beside its own share, by_start times the sum of its numbers less zero. */
typedef struct ec_operand {
    int k, n, wide, group, block, element, zero;
#ifdef EC_MEMORY_SUMS
    int multiple; /* words of a column come in multiples of this */
#endif
    int32_t start, by_start;
    ptrdiff_t row, column; /* from a number to the next of its column, and of its row */
    int interleaves;
    ec_interleave interleave[2];
} ec_operand;

/* Words of a column, those of zeros behind it included. */
EC_INLINE int ec_operand_words(const ec_operand *as)
{
    const int words = ec_ceil_div(as->k, as->group);
#ifdef EC_MEMORY_SUMS
    if (as->multiple > 1)
        return ec_ceil_div(words, as->multiple) * as->multiple;
#endif
    return words;
}

/* Number `at` of what is packed. */
EC_INLINE void ec_operand_put(const ec_operand *as, void *to, ptrdiff_t at, int number)
{
    if (as->element == 1)
        ((int8_t *)to)[at] = (int8_t)number;
    else
        ((int16_t *)to)[at] = (int16_t)(number - as->zero);
}

/* A word of each of n columns, which has `few` numbers from b on; `sums` of the columns. */
EC_INLINE void ec_operand_word(const ec_operand *as, const int8_t *b, void *to, int few, int n, int32_t *sums)
{
    EC_UNROLL
    for (int e = 0; e < 4; e++) {
        if (e >= as->group)
            continue;
        for (int j = 0; j < n; j++) {
            const int number = e < few ? b[e * as->row + j * as->column] : as->element == 1 ? 0 : as->zero;
            ec_operand_put(as, to, (ptrdiff_t)j * as->group + e, number);
            sums[j] += e < few ? number : 0;
        }
    }
}

/* Packs whole words of columns or rows whose numbers lie side by side. */
EC_INLINE void ec_operand_whole_word(const ec_operand *as, const int8_t *b, void *to, int n, int32_t *sums)
{
    if (as->column == 1 && as->group == 4) {
        const int8_t *const w = b, *const x = b + as->row, *const y = x + as->row, *const z = y + as->row;
        int8_t *const bytes = to;
        for (int j = 0; j < n; j++) {
            bytes[4 * j] = w[j], bytes[4 * j + 1] = x[j], bytes[4 * j + 2] = y[j], bytes[4 * j + 3] = z[j];
            sums[j] += w[j] + x[j] + y[j] + z[j];
        }
    } else if (as->row == 1 && as->group == 4) {
        for (int j = 0; j < n; j++) {
            const int8_t *const four = b + j * as->column;
            memcpy((int8_t *)to + 4 * j, four, 4);
            sums[j] += four[0] + four[1] + four[2] + four[3];
        }
    } else {
        ec_operand_word(as, b, to, as->group, n, sums);
    }
}

/* `words` of all `wide` columns of a tile, of which n exist, in another order. */
EC_INLINE void ec_operand_interleave(const ec_operand *as, ec_interleave by, const int8_t *b, void *to, int left, int wide,
                                     int n, int32_t *sums)
{
    const int size = 4 * as->group; /* numbers of a vector */
    for (int word = 0; word < by.words; word++)
        for (int four = 0; four < wide; four += 4)
            for (int i = 0; i < size; i++) {
                const int from = by.taken[word * size + i], j = four + from / by.numbers, at = from % by.numbers;
                const int there = j < n && at < left;
                const int number = there ? b[at * as->row + j * as->column] : as->element == 1 ? 0 : as->zero;
                ec_operand_put(as, to, ((ptrdiff_t)word * wide + four) * as->group + i, number);
                sums[j] += there ? number : 0;
            }
}

/* A tile of `wide` columns, of which n exist. */
EC_INLINE void ec_operand_tile(const ec_operand *as, const int8_t *b, char *to, int wide, int n, int32_t *sums)
{
    const int words = ec_ceil_div(as->k, as->group), all = ec_operand_words(as);
    if (n < wide || words < all)
        memset(to, 0, (size_t)all * 4 * (size_t)wide);
    for (int j = 0; j < wide; j++)
        sums[j] = 0;
    for (int block = 0; block < words; block += as->block) {
        const int end = ec_min_i(block + as->block, words);
        int word = block;
        for (int i = 0; i < as->interleaves; i++) {
            const ec_interleave by = as->interleave[i];
            for (; word + by.words <= end; word += by.words)
                ec_operand_interleave(as, by, b + word * as->group * as->row, to + (ptrdiff_t)word * 4 * wide,
                                      as->k - word * as->group, wide, n, sums);
        }
        for (; word < end; word++) {
            const int left = as->k - word * as->group;
            const int8_t *const from = b + word * as->group * as->row;
            if (left >= as->group)
                ec_operand_whole_word(as, from, to + (ptrdiff_t)word * 4 * wide, n, sums);
            else
                ec_operand_word(as, from, to + (ptrdiff_t)word * 4 * wide, left, n, sums);
        }
    }
    for (int j = 0; j < wide; j++)
        sums[j] = as->start - as->by_start * (sums[j] - as->k * as->zero);
}

/* All of an operand, and what the sums of its columns start with. */
EC_NEST void ec_pack_operand(const ec_operand *as, const int8_t *b, void *packed, int32_t *start)
{
    char *to = packed;
    for (int j = 0; j < as->n; j += as->wide) {
        const int n = ec_min_i(as->wide, as->n - j), wide = ec_ceil_div(n, EC_VL) * EC_VL;
        ec_operand_tile(as, b + j * as->column, to, wide, n, start + j);
        to += (ptrdiff_t)ec_operand_words(as) * 4 * wide;
    }
}

/* `room` columns have the same words. */
EC_INLINE void ec_fill_words(int32_t *to, int32_t word, int room)
{
    for (int i = 0; i < room; i++)
        to[i] = word;
}

#endif
