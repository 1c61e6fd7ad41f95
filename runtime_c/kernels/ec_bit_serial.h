/* Convolutions of an input of few bits with filters of few bits, bit by bit: products of 32 channels are an operation on
   words, and their sum is how many bits are set.  With q an input, from 0 on, and w = (-1)^s m a filter,

       sum_i q[i] w[i] = sum over bits p of q and j of m of 2^(p + j) (ones((q_p ^ s) & m_j) - ones(s & m_j))

   where q_p are words of bit p of 32 channels, and ones counts (Umuroglu and Jahre, "Streamlined Deployment for Quantized
   Neural Networks", 2017).  The second term of a filter is a constant, in what its sums start with.  Words are added
   up by carry-save adders before bits are counted (Warren, "Hacker's Delight", 5-1; Harley and Seal).

   Bits of the windows of a row of pixels are packed first, column by column, of a column kernel row by kernel row the
   channels: a window is one run of words.  channels: of each what its sum starts with, its scaling (ec_int8_scaling.h), what
   border windows add where these have bits of their own, and the filter: the words of s, then of every m_j.
   Needs ec_int8_channels.h, ec_window.h. */
#ifndef EC_BIT_SERIAL_H
#define EC_BIT_SERIAL_H

/* Inputs have `bits`, q[i] = in[i] + 128, and windows that lie in the image none below bit `first`: signs are 0 and 2.  The
   lowest bit of other windows is `border`, since padding, between these, is 1; it is `first` where there are none such.
   magnitudes: bits of m, 0 where all are 1.  A sum counts 2^shift. */
typedef struct ec_bit_serial {
    ec_window window;
    int in_c, out_c, bits, first, border, magnitudes, padding, shift;
    ptrdiff_t in_row, in_pixel, out_row, out_pixel;
    ec_int8_result result;
} ec_bit_serial;

/* Bits at the same place of a, b and c: their sum, whose upper bit is added to by the caller. */
EC_INLINE uint32_t ec_carry(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | ((a ^ b) & c); }

/* How many bits of each four are set, at most 4. */
EC_INLINE uint32_t ec_ones_of_four(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    return (x & 0x33333333u) + (x >> 2 & 0x33333333u);
}
/* The sum of two numbers of four bits, of every byte. */
EC_INLINE uint32_t ec_nibbles(uint32_t x) { return (x & 0x0f0f0f0fu) + (x >> 4 & 0x0f0f0f0fu); }
/* The sum of four bytes. */
EC_INLINE uint32_t ec_bytes(uint32_t x)
{
    x = (x & 0x00ff00ffu) + (x >> 8 & 0x00ff00ffu);
    return (x + (x >> 16)) & 0xffffu;
}

/* Word i of a product; sizes: of one bit, NULL where all are 1. */
EC_INLINE uint32_t ec_product_word(const uint32_t *inputs, const uint32_t *signs, const uint32_t *sizes, int i)
{
    return sizes ? (inputs[i] ^ signs[i]) & sizes[i] : inputs[i] ^ signs[i];
}

enum { EC_BIT_SERIAL_BLOCK = 8, EC_BIT_SERIAL_BLOCKS = 31 }; /* of eight words, as many as a byte counts carries of */

/* How many bits of n words of products are set.  by_1, by_2, by_4: bits that count so many. */
EC_INLINE int32_t ec_count_products(const uint32_t *inputs, const uint32_t *signs, const uint32_t *sizes, int n)
{
    uint32_t by_1 = 0, by_2 = 0, by_4 = 0, total = 0;
    int left = n;
    do {
        const int blocks = ec_min_i(left / EC_BIT_SERIAL_BLOCK, EC_BIT_SERIAL_BLOCKS);
        const uint32_t *const end = inputs + blocks * EC_BIT_SERIAL_BLOCK;
        uint32_t by_8 = 0; /* in bytes */
        EC_NO_UNROLL
        while (inputs != end) {
            uint32_t two[4], four[2];
            EC_UNROLL
            for (int i = 0; i < 4; i++) {
                const uint32_t a = ec_product_word(inputs, signs, sizes, 2 * i);
                const uint32_t b = ec_product_word(inputs, signs, sizes, 2 * i + 1);
                two[i] = ec_carry(a, b, by_1);
                by_1 ^= a ^ b;
                if (i % 2) {
                    four[i / 2] = ec_carry(two[i - 1], two[i], by_2);
                    by_2 ^= two[i - 1] ^ two[i];
                }
                EC_IN_ORDER();
            }
            by_8 += ec_nibbles(ec_ones_of_four(ec_carry(four[0], four[1], by_4)));
            by_4 ^= four[0] ^ four[1];
            inputs += EC_BIT_SERIAL_BLOCK, signs += EC_BIT_SERIAL_BLOCK;
            sizes = sizes ? sizes + EC_BIT_SERIAL_BLOCK : sizes;
        }
        total += 8 * ec_bytes(by_8);
        left -= blocks * EC_BIT_SERIAL_BLOCK;
    } while (left >= EC_BIT_SERIAL_BLOCK);
    uint32_t eight = 0; /* at most one carry reaches each bit: seven and seven are fewer than 16 */
    EC_UNROLL
    for (int i = 0; i + 1 < left; i += 2) {
        const uint32_t a = ec_product_word(inputs, signs, sizes, i);
        const uint32_t b = ec_product_word(inputs, signs, sizes, i + 1);
        const uint32_t two = ec_carry(a, b, by_1), four = by_2 & two;
        by_1 ^= a ^ b, by_2 ^= two;
        eight |= by_4 & four, by_4 ^= four;
    }
    if (left % 2) {
        const uint32_t a = ec_product_word(inputs, signs, sizes, left - 1);
        const uint32_t two = by_1 & a, four = by_2 & two;
        by_1 ^= a, by_2 ^= two;
        eight |= by_4 & four, by_4 ^= four;
    }
    const uint32_t low = ec_ones_of_four(by_1) + 2 * ec_ones_of_four(by_2);
    const uint32_t high = ec_ones_of_four(by_4) + 2 * ec_ones_of_four(eight);
    return (int32_t)(total + ec_bytes(ec_nibbles(low) + 4 * ec_nibbles(high)));
}

/* One bit of n <= 32 numbers of eight bits, those of four at a time gathered by a product. */
EC_INLINE uint32_t ec_bit_of(const int8_t *in, int n, int bit)
{
    uint32_t found = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint8_t *const x = (const uint8_t *)in + i; /* in + 128 has the same bits, but the highest */
        const uint32_t four = x[0] | (uint32_t)x[1] << 8 | (uint32_t)x[2] << 16 | (uint32_t)x[3] << 24;
        found |= ((four >> bit & 0x01010101u) * 0x10204080u >> 28) << i;
    }
    for (; i < n; i++)
        found |= ((uint32_t)in[i] >> bit & 1u) << i;
    return found;
}

EC_INLINE int ec_bit_serial_words(const ec_bit_serial *spec) { return ec_ceil_div(spec->in_c, 32); }

/* Pixel of an input, NULL: padding, by words of each bit, those of a bit `apart` from those of the next. */
EC_INLINE void ec_bit_serial_pack(const ec_bit_serial *spec, const int8_t *pixel, uint32_t *words, int apart)
{
    for (int p = spec->border; p < spec->bits; p++, words += apart)
        for (int c = 0; c < spec->in_c; c += 32) {
            const int n = ec_min_i(spec->in_c - c, 32);
            const uint32_t all = n < 32 ? (1u << n) - 1 : 0xffffffffu;
            const uint32_t bits = pixel ? ec_bit_of(pixel + c, n, p) : spec->padding >> p & 1 ? all : 0;
            words[c / 32] = bits;
        }
}

/* The columns of a row of windows. */
EC_SHARED void ec_bit_serial_row(const ec_bit_serial *spec, const int8_t *in, int y, uint32_t *strip, int columns)
{
    const ec_window *w = &spec->window;
    const int words = ec_bit_serial_words(spec), apart = columns * w->kernel_h * words;
    for (int x = 0; x < columns; x++)
        for (int ky = 0; ky < w->kernel_h; ky++, strip += words) {
            const int in_y = y * w->stride_h - w->pad_h + ky * w->dilation_h, in_x = x - w->pad_w;
            const int inside = in_y >= 0 && in_y < w->in_h && in_x >= 0 && in_x < w->in_w;
            const int8_t *pixel = inside ? in + ec_ring(in_y, w->in_ring) * spec->in_row + in_x * spec->in_pixel : NULL;
            ec_bit_serial_pack(spec, pixel, strip, apart);
        }
}

/* Rows [row0, row1) of the output.  strip: for all bits of the columns of a row of windows. */
EC_INLINE void ec_bit_serial_convolve(const ec_bit_serial *spec, const int8_t *in, const int32_t *channels, int8_t *out,
                                      uint32_t *strip, int row0, int row1)
{
    const ec_window *w = &spec->window;
    const int words = ec_bit_serial_words(spec), column = w->kernel_h * words, window = w->kernel_w * column;
    const int columns = (w->out_w - 1) * w->stride_w + w->kernel_w, borders = spec->border < spec->first;
    const int own = EC_INT8_WORDS + borders, each = own + window * (1 + spec->magnitudes);
    for (int y = row0; y < row1; y++) {
        const int in_y = y * w->stride_h - w->pad_h;
        const int rows_inside = in_y >= 0 && in_y + (w->kernel_h - 1) * w->dilation_h < w->in_h;
        ec_bit_serial_row(spec, in, y, strip, columns);
        for (int x = 0; x < w->out_w; x++) {
            const int in_x = x * w->stride_w - w->pad_w;
            const int inside = !borders || (rows_inside && in_x >= 0 && in_x + w->kernel_w <= w->in_w);
            const uint32_t *const windows = strip + x * w->stride_w * column;
            int8_t *const results = out + ec_ring(y, w->out_ring) * spec->out_row + x * spec->out_pixel;
            for (int o = 0; o < spec->out_c; o++) {
                const int32_t *const channel = channels + o * each;
                const uint32_t *const s = (const uint32_t *)(channel + own);
                int32_t sum = 0;
                for (int p = inside ? spec->first : spec->border; p < spec->bits; p++) {
                    const uint32_t *const q = windows + (p - spec->border) * columns * column;
                    if (!spec->magnitudes)
                        sum += ec_count_products(q, s, NULL, window) << p;
                    for (int j = 0; j < spec->magnitudes; j++)
                        sum += ec_count_products(q, s, s + (1 + j) * window, window) << (p + j);
                }
                if (!inside)
                    sum += channel[EC_INT8_WORDS];
                results[o] = ec_int8_of_sum(spec->result, channel[0] + sum * (1 << spec->shift), channel + 1, 1);
            }
        }
    }
}

#endif
