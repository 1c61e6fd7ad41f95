/* A camera's frame as integers by whole lines, where these are linear in its values: sums, values, then results.
   Needs ec_preprocess.h. */
#ifndef EC_PREPROCESS_LINES_H
#define EC_PREPROCESS_LINES_H

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

#endif
