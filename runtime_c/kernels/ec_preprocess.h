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

/* Factors and offsets of the channels, repeated for whole vectors of bytes of 1 to 4 channels; and what lies around a line,
   since its places read their second neighbours, too. */
enum { EC_PREPROCESS_PERIOD = 192, EC_PREPROCESS_BESIDE = 8 };
typedef struct ec_preprocess_linear {
    int32_t factor[EC_PREPROCESS_PERIOD], offset[EC_PREPROCESS_PERIOD];
} ec_preprocess_linear;

/* Columns as values in the network's order, four channels at a time: what is beyond a pixel's own is overwritten by the
   next. */
EC_INLINE void ec_preprocess_values(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                    const int32_t *restrict line, int32_t *restrict values)
{
    const int order[4] = {spec.as_bytes ? spec.at_0 : 0, spec.as_bytes && spec.channels > 1 ? spec.at_1 : 1,
                          spec.as_bytes && spec.channels > 2 ? spec.at_2 : 2, 3};
    for (int x = 0; x < spec.columns; x++) {
        int32_t pixel[4], ordered[4];
        ec_preprocess_column(spec, by, line, x, pixel, 4);
        EC_UNROLL
        for (int c = 0; c < 4; c++)
            ordered[c] = pixel[order[c]];
        EC_COPY(values + (ptrdiff_t)x * spec.channels, ordered, sizeof ordered);
    }
}

/* The result of a value of channel j of the period. */
EC_INLINE int32_t ec_preprocess_result(const ec_preprocess spec, const ec_preprocess_linear *by, int32_t value, int j)
{
    const int32_t sum = spec.alike ? value * spec.factor + spec.offset : value * by->factor[j] + by->offset[j];
    return ec_min_i(ec_max_i(sum >> spec.result_shift, spec.low), spec.high);
}

/* Results of a row of values, pixels side by side. */
EC_INLINE void ec_preprocess_results(const ec_preprocess spec, const ec_preprocess_linear *by, int32_t *restrict values,
                                     void *restrict to)
{
    const int count = spec.columns * spec.channels;
    const int periods = count - count % EC_PREPROCESS_PERIOD;
    for (int i = 0; i < periods; i += EC_PREPROCESS_PERIOD)
        for (int j = 0; j < EC_PREPROCESS_PERIOD; j++)
            values[i + j] = ec_preprocess_result(spec, by, values[i + j], j);
    for (int j = 0; j < count - periods; j++)
        values[periods + j] = ec_preprocess_result(spec, by, values[periods + j], j);
    if (spec.element == 1) {
        int8_t *restrict const bytes = to;
        for (int i = 0; i < count; i++)
            bytes[i] = (int8_t)values[i];
    } else {
        int16_t *restrict const halves = to;
        for (int i = 0; i < count; i++)
            halves[i] = (int16_t)values[i];
    }
}

/* Channel by channel what lies side by side. */
EC_INLINE void ec_preprocess_planes(const ec_preprocess spec, const void *restrict beside, void *restrict to)
{
    EC_UNROLL
    for (int c = 0; c < spec.channels; c++)
        for (int x = 0; x < spec.columns; x++) {
            if (spec.element == 1)
                ((int8_t *)to)[(ptrdiff_t)c * spec.c_next + x] = ((const int8_t *)beside)[x * spec.channels + c];
            else
                ((int16_t *)to)[(ptrdiff_t)c * spec.c_next + x] = ((const int16_t *)beside)[x * spec.channels + c];
        }
}

/* Results of two rows of the frame whose columns lie evenly, all weighed alike: of each place in a row, of which the columns
   are some.  Sums have 16 bits. */
EC_INLINE void ec_preprocess_places(const ec_preprocess spec, const ec_preprocess_linear *by, const ec_pixel_row a,
                                    const ec_pixel_row b, int32_t weight, uint16_t *restrict line, void *restrict to)
{
    const int half_h = spec.rounded ? spec.over_h / 2 : 0, half_w = spec.rounded && spec.over_h == 1 ? spec.over_w / 2 : 0;
    const int divisor = spec.over_h * spec.over_w, count = spec.width * spec.channels;
    if (spec.as_bytes) {
        const uint8_t *restrict const above = a.pixels, *restrict const below = b.pixels;
        for (int i = 0; i < count; i++)
            line[i] = (uint16_t)(half_h + (spec.linear_h ? ec_preprocess_between(above[i], below[i], weight, spec.over_h)
                                                         : above[i]));
    } else {
        for (int x = 0; x < spec.width; x++) {
            const ec_pixel above = ec_pixel_at(spec, a, x), below = spec.linear_h ? ec_pixel_at(spec, b, x) : above;
            EC_UNROLL
            for (int c = 0; c < spec.channels; c++)
                line[x * spec.channels + c] =
                    (uint16_t)(half_h + ec_preprocess_between(above.channel[c], below.channel[c], weight, spec.over_h));
        }
    }
    int8_t *restrict const bytes = to;
    int16_t *restrict const halves = to;
    for (int i = 0; i < count; i += EC_PREPROCESS_PERIOD) /* the workspace has room for a whole period, and around it */
        for (int j = 0; j < EC_PREPROCESS_PERIOD; j++) {
            const int first = line[i + j], second = line[i + j + spec.near_w];
            const int value = (uint16_t)(first * spec.over_w + (second - first) * spec.weight_w + half_w) / divisor;
            const int32_t result = ec_preprocess_result(spec, by, value, j);
            if (spec.element == 1)
                bytes[i + j] = (int8_t)result;
            else
                halves[i + j] = (int16_t)result;
        }
}

/* Columns of what ec_preprocess_places made. */
EC_INLINE void ec_preprocess_pick(const ec_preprocess spec, const unsigned char *restrict from, unsigned char *restrict to)
{
    const int order[3] = {spec.as_bytes ? spec.at_0 : 0, spec.as_bytes ? spec.at_1 : 1, spec.as_bytes ? spec.at_2 : 2};
    const int beside = spec.c_next == 1, ordered = spec.channels == 1 || (order[0] == 0 && order[1] == 1);
    int x = 0;
    if (beside && ordered) { /* four channels at a time: what is beyond a pixel's own is overwritten by the next */
        for (; x < spec.columns - 1; x++)
            EC_COPY(to + (ptrdiff_t)x * spec.channels * spec.element,
                    from + ((ptrdiff_t)x * spec.apart_w + spec.begin_w) * spec.element,
                    (size_t)((spec.channels == 1 ? 1 : 4) * spec.element));
    }
    EC_UNROLL
    for (int c = 0; c < spec.channels; c++)
        for (int i = x; i < spec.columns; i++)
            EC_COPY(to + ((ptrdiff_t)i * spec.x_next + (ptrdiff_t)c * spec.c_next) * spec.element,
                    from + ((ptrdiff_t)i * spec.apart_w + spec.begin_w + order[c]) * spec.element, (size_t)spec.element);
}

/* ec_preprocess_table on vectors, where results are linear in values and held to bounds: factors, offsets, by channel.  Two
   rows of the frame are a line of sums in the workspace first, then values, then results. */
EC_INLINE void ec_preprocess_lines(const ec_preprocess spec, const uint8_t *frame, const int16_t *neighbours,
                                   const int32_t *linear, const void *around, void *out, int32_t *workspace, int row0,
                                   int row1)
{
    const ec_preprocess_neighbours by = ec_preprocess_split(spec, neighbours);
    const int beside = spec.c_next == 1, order[4] = {spec.at_0, spec.at_1, spec.at_2, 3};
    int32_t *const values = workspace + (ptrdiff_t)spec.width * spec.channels + EC_PREPROCESS_PERIOD + EC_PREPROCESS_BESIDE;
    int32_t *const results = values + (ptrdiff_t)spec.columns * spec.channels + EC_PREPROCESS_PERIOD;
    ec_preprocess_linear channels;
    for (int j = 0; !spec.alike && j < EC_PREPROCESS_PERIOD; j++) {
        const int c = j % spec.channels, place = spec.even && spec.as_bytes ? j - c + order[c] : j;
        channels.factor[place] = linear[c];
        channels.offset[place] = linear[spec.channels + c];
    }
    uint16_t *const line = (uint16_t *)workspace + EC_PREPROCESS_BESIDE;
    for (int i = 0; spec.even && i < EC_PREPROCESS_PERIOD + EC_PREPROCESS_BESIDE; i++)
        line[spec.width * spec.channels + i] = 0; /* what is made of these fits int32, too */
    for (int y = row0; y < row1; y++) {
        unsigned char *const to = (unsigned char *)out + (ptrdiff_t)ec_ring(y, spec.out_ring) * spec.y_next * spec.element;
        unsigned char *const box = to + (ptrdiff_t)spec.left * spec.x_next * spec.element;
        const int row = y - spec.top, inside = row >= 0 && row < spec.rows;
        ec_preprocess_around(spec, around, to, 0, inside ? spec.left : spec.out_w);
        if (!inside)
            continue;
        const ec_pixel_row a = ec_pixel_row_of(spec, frame, by.first_h[row]);
        const ec_pixel_row b = spec.linear_h ? ec_pixel_row_of(spec, frame, by.second_h[row]) : a;
        const int32_t weight = spec.linear_h ? by.weight_h[row] : 0;
        if (spec.even) {
            ec_preprocess_places(spec, &channels, a, b, weight, line, values);
            ec_preprocess_pick(spec, (const unsigned char *)values, box);
        } else {
            ec_preprocess_line(spec, a, b, weight, workspace);
            ec_preprocess_values(spec, by, workspace, values);
            ec_preprocess_results(spec, &channels, values, beside ? (void *)box : results);
            if (!beside)
                ec_preprocess_planes(spec, results, box);
        }
        ec_preprocess_around(spec, around, to, spec.left + spec.columns, spec.out_w);
    }
}

/* Scales and shifts of the channels of a line, in its order. */
typedef struct ec_preprocess_numbers_of {
    float scale[4], shift[4];
} ec_preprocess_numbers_of;

/* Pixel x of the result, in the order of the line: its channels, or the four numbers from there on. */
EC_INLINE void ec_preprocess_number(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                    const ec_preprocess_numbers_of numbers, const int32_t *restrict line, int x,
                                    float *restrict to, int count)
{
    int32_t sums[4];
    float pixel[4];
    ec_preprocess_column(spec, by, line, x, sums, count);
    EC_UNROLL
    for (int c = 0; c < count; c++)
        pixel[c] = (float)sums[c] * numbers.scale[c] + numbers.shift[c];
    EC_COPY(to, pixel, (size_t)count * sizeof *pixel);
}

/* Columns of a row of the frame, four numbers at a time: what is beyond a pixel's own is overwritten by the next. */
EC_INLINE void ec_preprocess_columns(const ec_preprocess spec, const ec_preprocess_neighbours by,
                                     const ec_preprocess_numbers_of numbers, const int32_t *restrict line,
                                     float *restrict to)
{
    for (int x = 0; x < spec.columns - 1; x++)
        ec_preprocess_number(spec, by, numbers, line, x, to + (ptrdiff_t)x * spec.channels, spec.channels == 1 ? 1 : 4);
    ec_preprocess_number(spec, by, numbers, line, spec.columns - 1, to + (ptrdiff_t)(spec.columns - 1) * spec.channels,
                         spec.channels);
}

/* Numbers scale * sum + shift: numbers has all scales, all shifts and what is around the frame.  Two rows of the frame are
   a line of sums in the workspace first.  Behind it there is a row of numbers, and one in the order of the result, where
   that is another or something is still to become of them. */
EC_INLINE void ec_preprocess_numbers(const ec_preprocess spec, const ec_epilogue epilogue, const uint8_t *frame,
                                     const int16_t *neighbours, const float *numbers, void *out, float *workspace,
                                     int row0, int row1)
{
    const ec_preprocess_neighbours by = ec_preprocess_split(spec, neighbours);
    const float *const around = numbers + 2 * (ptrdiff_t)spec.channels;
    const int beside = spec.c_next == 1, count = beside ? spec.out_w * spec.channels : spec.out_w;
    const int c_next = beside ? 1 : spec.out_w, order[3] = {spec.at_0, spec.at_1, spec.at_2};
    const int ordered = !spec.as_bytes || (order[0] == 0 && (spec.channels < 3 || order[2] == 2));
    const int direct = beside && ordered && spec.plain;
    int32_t *const line = (int32_t *)workspace;
    float *const reals = workspace + (ptrdiff_t)spec.width * spec.channels + 4;
    float *const arranged = reals + (ptrdiff_t)spec.columns * spec.channels;
    ec_preprocess_numbers_of in_line;
    for (int c = 3; c >= 0; c--) { /* those behind the last channel are anything */
        const int channel = ec_min_i(c, spec.channels - 1), place = spec.as_bytes && c == channel ? order[c] : c;
        in_line.scale[place] = numbers[channel];
        in_line.shift[place] = numbers[spec.channels + channel];
    }
    for (int y = row0; y < row1; y++) {
        const ptrdiff_t begin = (ptrdiff_t)ec_ring(y, spec.out_ring) * spec.y_next;
        const int row = y - spec.top, inside = row >= 0 && row < spec.rows;
        float *const result = direct ? (float *)out + begin : arranged;
        if (!inside || spec.columns < spec.out_w) {
            for (int x = 0; x < spec.out_w; x++)
                for (int c = 0; c < spec.channels; c++)
                    result[(ptrdiff_t)x * spec.x_next + (ptrdiff_t)c * c_next] = around[c];
        }
        float *const to = result + (ptrdiff_t)spec.left * spec.x_next;
        if (inside) {
            const ec_pixel_row a = ec_pixel_row_of(spec, frame, by.first_h[row]);
            const ec_pixel_row b = spec.linear_h ? ec_pixel_row_of(spec, frame, by.second_h[row]) : a;
            ec_preprocess_line(spec, a, b, spec.linear_h ? by.weight_h[row] : 0, line);
            ec_preprocess_columns(spec, by, in_line, line, direct ? to : reals);
        }
        if (direct)
            continue;
        for (int x = 0; inside && x < spec.columns; x++) {
            EC_UNROLL
            for (int c = 0; c < spec.channels; c++)
                to[(ptrdiff_t)x * spec.x_next + (ptrdiff_t)c * c_next] = reals[x * spec.channels + (spec.as_bytes ? order[c] : c)];
        }
        for (int plane = 0; plane < (beside ? 1 : spec.channels); plane++) {
            const ptrdiff_t at = begin + (ptrdiff_t)plane * spec.c_next;
            for (int i = 0; i < count; i += EC_VL) {
                const int n = ec_min_i(EC_VL, count - i);
                ec_finish(epilogue, ec_read(arranged + (ptrdiff_t)plane * count + i, n), NULL, out, at + i, n);
            }
        }
    }
}

#endif
