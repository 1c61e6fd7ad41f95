/* Resize along one axis by a scale, and a region, that are known at run time.  Needs ec_common.h. */
#ifndef EC_RESIZE_ALONG_H
#define EC_RESIZE_ALONG_H

enum ec_coordinates {
    EC_ASYMMETRIC,
    EC_HALF_PIXEL,
    EC_PYTORCH_HALF_PIXEL,
    EC_HALF_PIXEL_SYMMETRIC,
    EC_ALIGN_CORNERS,
    EC_TF_HALF_PIXEL_FOR_NN,
    EC_TF_CROP_AND_RESIZE
};
enum ec_interpolation {
    EC_FLOOR,
    EC_CEIL,
    EC_ROUND_PREFER_FLOOR,
    EC_ROUND_PREFER_CEIL,
    EC_LINEAR,
    EC_CUBIC
};

/* in[outer][size][inner] -> out[outer][count][inner].  Filters have `taps` at most, an even number; those that are
   antialiased become wider as the scale becomes smaller. */
typedef struct ec_resize_along {
    int outer, size, count, inner;
    int coordinates, interpolation, taps, antialiased, excludes_outside;
    float cubic, extrapolated;
} ec_resize_along;

EC_INLINE double ec_floor_of(double x)
{
    const double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

/* x / scale; that of float32 decides which element is nearest, as in ONNX Runtime. */
EC_INLINE double ec_quotient(const ec_resize_along *spec, double x, double scale)
{
    const double quotient = x / scale;
    return spec->interpolation < EC_LINEAR ? (double)(float)quotient : quotient;
}

/* Where output i lies in the input, by the equations of ONNX's Resize: elements have a middle, or the corners
   of [start, end] of the image are those of the output. */
EC_INLINE double ec_middle(const ec_resize_along *spec, int i, double scale)
{
    return ec_quotient(spec, i + 0.5, scale) - 0.5;
}

EC_INLINE double ec_between_corners(const ec_resize_along *spec, int i, double start, double end)
{
    const double last = spec->size - 1.0;
    return start * last + (end - start) * last * (spec->count > 1 ? i / (spec->count - 1.0) : 0.5);
}

EC_INLINE double ec_position(const ec_resize_along *spec, int i, double scale, double start, double end)
{
    (void)start, (void)end;
    switch (spec->coordinates) {
    case EC_ASYMMETRIC: return ec_quotient(spec, i, scale);
    case EC_PYTORCH_HALF_PIXEL: return spec->count > 1 ? ec_middle(spec, i, scale) : 0.0;
    case EC_HALF_PIXEL_SYMMETRIC:
        return 0.5 * spec->size * (1.0 - spec->count / (scale * spec->size)) + ec_middle(spec, i, scale);
    case EC_ALIGN_CORNERS: return spec->count > 1 ? ec_between_corners(spec, i, 0.0, 1.0) : 0.0;
    case EC_TF_HALF_PIXEL_FOR_NN: return ec_quotient(spec, i + 0.5, scale);
    case EC_TF_CROP_AND_RESIZE: return ec_between_corners(spec, i, start, end);
    default: return ec_middle(spec, i, scale); /* EC_HALF_PIXEL */
    }
}

/* Of a filter at a distance: the triangle, or the cubic function of Keys (1981). */
EC_INLINE double ec_filter(const ec_resize_along *spec, double distance)
{
    const double d = distance < 0.0 ? -distance : distance, a = (double)spec->cubic;
    if (spec->interpolation == EC_LINEAR)
        return d < 1.0 ? 1.0 - d : 0.0;
    return d <= 1.0  ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
           : d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                     : 0.0;
}

/* The nearest element, which may lie outside; up to EC_TIE a position is half way between two. */
#define EC_TIE 1e-6
EC_INLINE double ec_nearest_to(const ec_resize_along *spec, double x)
{
    switch (spec->interpolation) {
    case EC_CEIL: return -ec_floor_of(-x);
    case EC_ROUND_PREFER_FLOOR: return -ec_floor_of(0.5 + EC_TIE - x);
    case EC_ROUND_PREFER_CEIL: return ec_floor_of(x + 0.5 + EC_TIE);
    default: return ec_floor_of(x);
    }
}

EC_INLINE int ec_within(double x, int size)
{
    return x <= 0.0 ? 0 : x >= size - 1 ? size - 1 : (int)x;
}

/* out[i] += weight * in[at] for all outer and inner elements; the first time it is set. */
EC_INLINE void ec_add_weighed(const ec_resize_along *spec, const float *in, int at, float weight, float *out,
                              int i, int first)
{
    for (int o = 0; o < spec->outer; o++) {
        const float *const from = in + ((ptrdiff_t)o * spec->size + at) * spec->inner;
        float *const to = out + ((ptrdiff_t)o * spec->count + i) * spec->inner;
        for (int c = 0; c < spec->inner; c++)
            to[c] = first ? weight * from[c] : to[c] + weight * from[c];
    }
}

EC_INLINE void ec_fill_along(const ec_resize_along *spec, float *out, int i)
{
    for (int o = 0; o < spec->outer; o++)
        for (int c = 0; c < spec->inner; c++)
            out[((ptrdiff_t)o * spec->count + i) * spec->inner + c] = spec->extrapolated;
}

EC_INLINE void ec_interpolate(const ec_resize_along *spec, const float *in, double x, double scale, float *out,
                              int i)
{
    const double width = spec->antialiased && scale < 1.0 ? scale : 1.0;
    const double first = ec_floor_of(x) + 1 - spec->taps / 2, most = spec->size - 1;
    double total = 0.0;
    int begun = 0;
    for (int k = 0; k < spec->taps; k++) {
        const double at = first + k, weight = ec_filter(spec, (at - x) * width);
        total += spec->excludes_outside && (at < 0.0 || at > most) ? 0.0 : weight;
    }
    for (int k = 0; k < spec->taps; k++) {
        const double at = first + k, weight = ec_filter(spec, (at - x) * width);
        if (weight == 0.0 || (spec->excludes_outside && (at < 0.0 || at > most)))
            continue;
        ec_add_weighed(spec, in, ec_within(at, spec->size), (float)(weight / total), out, i, !begun);
        begun = 1;
    }
    if (!begun) /* all excluded, by a scale of run time that does not lead to so many outputs */
        ec_fill_along(spec, out, i);
}

EC_INLINE void ec_resize_by(const ec_resize_along *spec, const float *in, float scale, float start, float end,
                            float *out)
{
    const double by = scale > 0.0f ? (double)scale : 1.0; /* ONNX allows no other */
    for (int i = 0; i < spec->count; i++) {
        const double x = ec_position(spec, i, by, (double)start, (double)end);
        if (spec->coordinates == EC_TF_CROP_AND_RESIZE && !(x >= 0.0 && x <= spec->size - 1))
            ec_fill_along(spec, out, i);
        else if (spec->interpolation < EC_LINEAR)
            ec_add_weighed(spec, in, ec_within(ec_nearest_to(spec, x), spec->size), 1.0f, out, i, 1);
        else
            ec_interpolate(spec, in, x, by, out, i);
    }
}

#endif
