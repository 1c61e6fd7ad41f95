/* Interpolation to the nearest element: bytes move, whatever they stand for.  Needs ec_resize_sizes.h and ec_lanes.h. */
#ifndef EC_RESIZE_NEAREST_H
#define EC_RESIZE_NEAREST_H

/* `lanes` elements side by side that are not interpolated; index: of each dimension, one after the other.
   in_as is the format of out too. */
EC_INLINE void ec_resize_nearest(const ec_resize spec, const void *in, const int32_t *index, void *out, int outer,
                                 int lanes)
{
    const int32_t *const index_h = index + spec.out_d, *const index_w = index_h + spec.out_h;
    const size_t run = (size_t)lanes * (size_t)EC_STORED_BYTES(spec.in_as), line = run * (size_t)spec.out_w;
    char *to = (char *)out;
    for (int i = 0; i < outer * spec.out_d * spec.out_h; i++, to += line) {
        const int y = i % spec.out_h, slice = i / spec.out_h, z = slice % spec.out_d;
        if (y && index_h[y] == index_h[y - 1]) { /* the line before again */
            memcpy(to, to - line, line);
            continue;
        }
        const ptrdiff_t plane = (ptrdiff_t)(slice / spec.out_d) * spec.in_d + index[z];
        const ptrdiff_t row = (plane * spec.in_h + index_h[y]) * spec.in_w;
        for (int x = 0; x < spec.out_w; x++)
            memcpy(to + (size_t)x * run, (const char *)in + (size_t)(row + index_w[x]) * run, run);
    }
}

#endif
