/* A camera's frame as the input of a network, in one pass: colours, neighbours, numbers and their order. */
#ifndef EC_PREPROCESS_H
#define EC_PREPROCESS_H

/* How pixels lie in a frame; at_0, at_1 and at_2 are the bytes of

     packed   the network's channels, within a pixel
     rgb565   its lower and its upper byte
     yuv422   luma and both colour differences, within two pixels that share these
     yuv420   the same; differences are pairs of a plane behind the luma, one for 2 x 2 pixels */
enum { EC_PIXELS_PACKED, EC_PIXELS_RGB565, EC_PIXELS_YUV422, EC_PIXELS_YUV420 };

/* All members are constants at the call.  red, green, blue: the channels of the network that they are, the same for one
   that is a grey of them.  rows by columns pixels of the result are the frame's, from (top, left) on; linear_h, linear_w:
   they are made of two rows, two columns, whose weights add up to over_h, over_w.  rounded: to whole numbers, halves up.
   as_bytes: a frame's rows are pixels of the network's channels, in some order, and nothing between.  plain: results are
   float32, and have no epilogue.
   result_shift, low, high: of ec_preprocess_lines, whose results are (factor * value + offset) >> result_shift, held to
   both.  alike: factor and offset are those of all channels.  even: columns lie apart_w elements of a line apart, from
   begin_w on; the second neighbour lies near_w from the first and counts for weight_w.
   element: bytes of a result.  c_next, x_next, y_next: elements to the next channel, pixel and row; memory holds out_ring
   rows. */
typedef struct ec_preprocess {
    int pixels, pixel_bytes, at_0, at_1, at_2, red, green, blue, grey, channels;
    int height, width, stride;
    int out_w, top, left, rows, columns;
    int linear_h, linear_w, over_h, over_w, rounded, as_bytes, plain;
    int alike, factor, offset, result_shift, low, high, even, begin_w, apart_w, near_w, weight_w;
    int element, c_next, x_next, y_next, out_ring;
} ec_preprocess;

/* Of each row of the result, then of each column: the first of the frame that it is made of; and where those are linear
   the second, and its weight.  Columns are numbers of pixels, for ec_preprocess_numbers of elements of a line. */
typedef struct ec_preprocess_neighbours {
    const int16_t *first_h, *second_h, *weight_h, *first_w, *second_w, *weight_w;
} ec_preprocess_neighbours;

EC_INLINE ec_preprocess_neighbours ec_preprocess_split(const ec_preprocess spec, const int16_t *neighbours)
{
    const int16_t *const columns = neighbours + (spec.linear_h ? 3 : 1) * spec.rows;
    const ec_preprocess_neighbours split = {
        .first_h = neighbours, .second_h = neighbours + spec.rows, .weight_h = neighbours + 2 * spec.rows,
        .first_w = columns, .second_w = columns + spec.columns, .weight_w = columns + 2 * spec.columns,
    };
    return split;
}

/* A row of a frame: its pixels or their luma, and of yuv420 the colour differences of these, which lie apart. */
typedef struct ec_pixel_row {
    const uint8_t *pixels, *differences;
} ec_pixel_row;

typedef struct ec_pixel {
    int32_t channel[4];
} ec_pixel;

EC_INLINE ec_pixel_row ec_pixel_row_of(const ec_preprocess spec, const uint8_t *frame, int y)
{
    const ec_pixel_row row = {
        .pixels = frame + (ptrdiff_t)y * spec.stride,
        .differences = spec.pixels == EC_PIXELS_YUV420 ? frame + (ptrdiff_t)(spec.height + y / 2) * spec.stride : NULL,
    };
    return row;
}

/* Red, green and blue as the network's channels. */
EC_INLINE ec_pixel ec_pixel_of(const ec_preprocess spec, int32_t red, int32_t green, int32_t blue)
{
    ec_pixel pixel = {{0}};
    if (spec.grey) {
        pixel.channel[0] = (77 * red + 150 * green + 29 * blue + 128) >> 8; /* ITU-R BT.601 */
        return pixel;
    }
    pixel.channel[spec.red] = red;
    pixel.channel[spec.green] = green;
    pixel.channel[spec.blue] = blue;
    return pixel;
}

EC_INLINE int32_t ec_pixel_byte(int32_t x) { return x < 0 ? 0 : ec_min_i(x >> 8, 255); }

/* ITU-R BT.601, luma from 16 to 235. */
EC_INLINE ec_pixel ec_pixel_of_yuv(const ec_preprocess spec, int luma, int blue, int red)
{
    const int32_t y = 298 * (luma - 16) + 128, u = blue - 128, v = red - 128;
    return ec_pixel_of(spec, ec_pixel_byte(y + 409 * v), ec_pixel_byte(y - 100 * u - 208 * v), ec_pixel_byte(y + 516 * u));
}

/* Pixel x of a row. */
EC_INLINE ec_pixel ec_pixel_at(const ec_preprocess spec, const ec_pixel_row row, int x)
{
    const uint8_t *const at = row.pixels + (ptrdiff_t)x * spec.pixel_bytes;
    switch (spec.pixels) {
    case EC_PIXELS_RGB565: {
        const int32_t bits = at[spec.at_0] | at[spec.at_1] << 8;
        const int32_t red = bits >> 11, green = bits >> 5 & 63, blue = bits & 31;
        return ec_pixel_of(spec, red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2);
    }
    case EC_PIXELS_YUV422: {
        const uint8_t *const pair = row.pixels + (ptrdiff_t)(x / 2) * 4;
        return ec_pixel_of_yuv(spec, at[spec.at_0], pair[spec.at_1], pair[spec.at_2]);
    }
    case EC_PIXELS_YUV420: {
        const uint8_t *const pair = row.differences + (ptrdiff_t)(x / 2) * 2;
        return ec_pixel_of_yuv(spec, at[0], pair[spec.at_1], pair[spec.at_2]);
    }
    default:
        break;
    }
    if (spec.grey)
        return ec_pixel_of(spec, at[spec.at_0], at[spec.at_1], at[spec.at_2]);
    ec_pixel pixel = {{0}};
    EC_UNROLL
    for (int c = 0; c < spec.channels; c++)
        pixel.channel[c] = at[c == 0 ? spec.at_0 : c == 1 ? spec.at_1 : spec.at_2];
    return pixel;
}

/* a and b by the weight of b, all weights being `over` together. */
EC_INLINE int32_t ec_preprocess_between(int32_t a, int32_t b, int32_t weight, int over)
{
    return a * over + (b - a) * weight;
}

/* Column x of the result, of rows a and b of the frame: over_h * over_w times its channels. */
EC_INLINE ec_pixel ec_preprocess_pixel(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                       const ec_pixel_row a, const ec_pixel_row b, int32_t weight, int x)
{
    ec_pixel above = ec_pixel_at(spec, a, by.first_w[x]), below = above;
    if (spec.linear_h)
        below = ec_pixel_at(spec, b, by.first_w[x]);
    if (spec.linear_w) {
        const ec_pixel right = ec_pixel_at(spec, a, by.second_w[x]);
        const ec_pixel right_below = spec.linear_h ? ec_pixel_at(spec, b, by.second_w[x]) : right;
        EC_UNROLL
        for (int c = 0; c < spec.channels; c++) {
            above.channel[c] = ec_preprocess_between(above.channel[c], right.channel[c], by.weight_w[x], spec.over_w);
            below.channel[c] = ec_preprocess_between(below.channel[c], right_below.channel[c], by.weight_w[x], spec.over_w);
        }
    }
    if (spec.linear_h) {
        EC_UNROLL
        for (int c = 0; c < spec.channels; c++)
            above.channel[c] = ec_preprocess_between(above.channel[c], below.channel[c], weight, spec.over_h);
    }
    return above;
}

/* What is around the frame, in the pixels [begin, end) of a row of the result. */
EC_INLINE void ec_preprocess_around(const ec_preprocess spec, const unsigned char *around, unsigned char *to, int begin,
                                    int end)
{
    for (int x = begin; x < end; x++) {
        EC_UNROLL
        for (int c = 0; c < spec.channels; c++)
            EC_COPY(to + ((ptrdiff_t)x * spec.x_next + (ptrdiff_t)c * spec.c_next) * spec.element,
                    around + (ptrdiff_t)c * spec.element, (size_t)spec.element);
    }
}

/* Values from 0 to 255: table has the result of each, channel by channel, then what is around the frame.  Rows [row0, row1)
   of the result. */
EC_INLINE void ec_preprocess_table(const ec_preprocess spec, const uint8_t *frame, const int16_t *neighbours,
                                   const void *table, void *out, int row0, int row1)
{
    const ec_preprocess_neighbours by = ec_preprocess_split(spec, neighbours);
    const unsigned char *const results = table;
    const unsigned char *const around = results + (ptrdiff_t)256 * spec.channels * spec.element;
    const int32_t over = spec.over_h * spec.over_w;
    for (int y = row0; y < row1; y++) {
        unsigned char *const to = (unsigned char *)out + (ptrdiff_t)ec_ring(y, spec.out_ring) * spec.y_next * spec.element;
        const int row = y - spec.top;
        if (row < 0 || row >= spec.rows) {
            ec_preprocess_around(spec, around, to, 0, spec.out_w);
            continue;
        }
        const ec_pixel_row a = ec_pixel_row_of(spec, frame, by.first_h[row]);
        const ec_pixel_row b = spec.linear_h ? ec_pixel_row_of(spec, frame, by.second_h[row]) : a;
        const int32_t weight = spec.linear_h ? by.weight_h[row] : 0;
        ec_preprocess_around(spec, around, to, 0, spec.left);
        for (int x = 0; x < spec.columns; x++) {
            const ec_pixel pixel = ec_preprocess_pixel(spec, by, a, b, weight, x);
            EC_UNROLL
            for (int c = 0; c < spec.channels; c++) {
                const int32_t value = over > 1 ? (pixel.channel[c] + over / 2) / over : pixel.channel[c];
                EC_COPY(to + ((ptrdiff_t)(x + spec.left) * spec.x_next + (ptrdiff_t)c * spec.c_next) * spec.element,
                        results + ((ptrdiff_t)256 * c + value) * spec.element, (size_t)spec.element);
            }
        }
        ec_preprocess_around(spec, around, to, spec.left + spec.columns, spec.out_w);
    }
}

/* Two rows of a frame as sums of over_h times their bytes, or of their channels in the network's order; with the half that
   rounds them, where over_h has one: ec_preprocess_column adds that of columns alone. */
EC_INLINE void ec_preprocess_line(const ec_preprocess spec, const ec_pixel_row a, const ec_pixel_row b, int32_t weight,
                                  int32_t *restrict line)
{
    const int32_t half = spec.rounded ? spec.over_h / 2 : 0;
    EC_UNROLL
    for (int i = 0; i < 4; i++) /* which the columns read with the last pixel */
        line[spec.width * spec.channels + i] = 0;
    if (spec.as_bytes) {
        const uint8_t *const above = a.pixels, *const below = b.pixels;
        for (int i = 0; i < spec.width * spec.channels; i++)
            line[i] = half + (spec.linear_h ? ec_preprocess_between(above[i], below[i], weight, spec.over_h) : above[i]);
        return;
    }
    for (int x = 0; x < spec.width; x++) {
        const ec_pixel above = ec_pixel_at(spec, a, x), below = spec.linear_h ? ec_pixel_at(spec, b, x) : above;
        EC_UNROLL
        for (int c = 0; c < spec.channels; c++)
            line[x * spec.channels + c] =
                half + (spec.linear_h ? ec_preprocess_between(above.channel[c], below.channel[c], weight, spec.over_h)
                                      : above.channel[c]);
    }
}

/* Pixel x of the result, in the order of the line: its first sums, or values where they are rounded. */
EC_INLINE void ec_preprocess_column(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                    const int32_t *restrict line, int x, int32_t *restrict pixel, int count)
{
    const uint32_t divisor = spec.rounded ? (uint32_t)(spec.over_h * spec.over_w) : 1;
    const int32_t half = spec.rounded && spec.over_h == 1 ? spec.over_w / 2 : 0;
    const int32_t *const first = line + by.first_w[x], *const second = spec.linear_w ? line + by.second_w[x] : first;
    const int32_t weight = spec.linear_w ? by.weight_w[x] : 0;
    EC_UNROLL
    for (int c = 0; c < count; c++)
        pixel[c] = (int32_t)((uint32_t)(first[c] * spec.over_w + (second[c] - first[c]) * weight + half) / divisor);
}

#endif
