/* Elements of an image at given positions, between -1 and 1 (Jaderberg et al., "Spatial transformer
   networks", 2015).  Needs ec_common.h. */
#ifndef EC_SAMPLING_H
#define EC_SAMPLING_H

#define EC_SAMPLE_DIMS 3

enum ec_sample_mode { EC_SAMPLE_NEAREST, EC_SAMPLE_LINEAR, EC_SAMPLE_CUBIC };
enum ec_sample_padding { EC_SAMPLE_ZEROS, EC_SAMPLE_BORDER, EC_SAMPLE_REFLECTION };

/* in[images][channels][size...] at positions[images][count][dims], last dimension first, -> out[images][channels][count]. */
typedef struct ec_sampling {
    int images, channels, count;
    int dims, size[EC_SAMPLE_DIMS];
    int mode, padding, aligned;
} ec_sampling;

/* Beyond any image, and a number for which there is an int; of NaN, too. */
EC_INLINE float ec_sample_bounded(float x) { return x > -1e9f ? (x < 1e9f ? x : 1e9f) : -1e9f; }

EC_INLINE float ec_sample_floor(float x)
{
    const float whole = (float)(int)x;
    return whole > x ? whole - 1.0f : whole;
}
/* To nearest, ties to even. */
EC_INLINE float ec_sample_round(float x)
{
    const float low = ec_sample_floor(x), beyond = x - low;
    if (beyond != 0.5f)
        return beyond < 0.5f ? low : low + 1.0f;
    return (int)low % 2 ? low + 1.0f : low;
}

/* Mirrored at low and high until it lies between them. */
EC_INLINE float ec_sample_mirrored(float x, float low, float high)
{
    const float span = high - low;
    if (!(span > 0.0f))
        return low;
    const float away = x < low ? low - x : x - low;
    const float turns = ec_sample_floor(ec_sample_bounded(away / span)), left = away - turns * span;
    return (int)turns % 2 ? high - left : low + left;
}

EC_INLINE float ec_sample_clipped(float x, float last) { return x < 0.0f ? 0.0f : x > last ? last : x; }

/* Where x lies as it is padded, of one dimension. */
EC_INLINE float ec_sample_padded(const ec_sampling *spec, float x, int size)
{
    (void)size;
    switch (spec->padding) {
    case EC_SAMPLE_BORDER: return ec_sample_clipped(x, (float)(size - 1));
    case EC_SAMPLE_REFLECTION:
        return spec->aligned ? ec_sample_mirrored(x, 0.0f, (float)(size - 1))
                             : ec_sample_clipped(ec_sample_mirrored(x, -0.5f, (float)size - 0.5f), (float)(size - 1));
    default: return x; /* EC_SAMPLE_ZEROS */
    }
}

/* Keys, 1981, with a = -0.75. */
EC_INLINE float ec_sample_cubic(float distance)
{
    const float d = distance < 0.0f ? -distance : distance;
    return d <= 1.0f ? (1.25f * d - 2.25f) * d * d + 1.0f : ((-0.75f * d + 3.75f) * d - 6.0f) * d + 3.0f;
}
/* Of a tap, of those around a position that lies `beyond` the element below. */
EC_INLINE float ec_sample_weight(int mode, int tap, float beyond)
{
    (void)tap, (void)beyond;
    switch (mode) {
    case EC_SAMPLE_LINEAR: return tap ? beyond : 1.0f - beyond;
    case EC_SAMPLE_CUBIC: return ec_sample_cubic(beyond - (float)(tap - 1));
    default: return 1.0f;
    }
}

EC_INLINE int ec_sample_taps(int mode) { return mode == EC_SAMPLE_NEAREST ? 1 : mode == EC_SAMPLE_LINEAR ? 2 : 4; }

/* Taps and their weights in every dimension; those outside of the image have the index -1. */
typedef struct ec_sample_taps_of {
    int index[EC_SAMPLE_DIMS][4];
    float weight[EC_SAMPLE_DIMS][4];
} ec_sample_taps_of;

EC_INLINE void ec_sample_find(const ec_sampling *spec, const float *at, ec_sample_taps_of *taps)
{
    for (int d = 0; d < spec->dims; d++) {
        const int size = spec->size[d];
        const float to = at[spec->dims - 1 - d];
        const float place = spec->aligned ? (to + 1.0f) * 0.5f * (float)(size - 1)
                                          : ((to + 1.0f) * (float)size - 1.0f) * 0.5f;
        /* a cubic filter's taps are padded one by one */
        const float x = ec_sample_bounded(spec->mode == EC_SAMPLE_CUBIC ? place : ec_sample_padded(spec, place, size));
        const float low = spec->mode == EC_SAMPLE_NEAREST ? ec_sample_round(x) : ec_sample_floor(x);
        for (int k = 0; k < ec_sample_taps(spec->mode); k++) {
            const float tap = low + (float)(spec->mode == EC_SAMPLE_CUBIC ? k - 1 : k);
            const float padded = ec_sample_padded(spec, tap, size);
            taps->index[d][k] = padded >= 0.0f && padded <= (float)(size - 1) ? (int)padded : -1;
            taps->weight[d][k] = ec_sample_weight(spec->mode, k, x - low);
        }
    }
}

EC_INLINE float ec_sample_sum(const ec_sampling *spec, const float *in, const ec_sample_taps_of *taps)
{
    const int n = ec_sample_taps(spec->mode), all = spec->dims == 3 ? n * n * n : spec->dims == 2 ? n * n : n;
    float sum = 0.0f;
    for (int t = 0; t < all; t++) {
        ptrdiff_t at = 0;
        float weight = 1.0f;
        int outside = 0;
        for (int d = spec->dims - 1, left = t, stride = 1; d >= 0; left /= n, stride *= spec->size[d], d--) {
            outside |= taps->index[d][left % n] < 0;
            at += (ptrdiff_t)taps->index[d][left % n] * stride;
            weight *= taps->weight[d][left % n];
        }
        if (!outside)
            sum += weight * in[at];
    }
    return sum;
}

EC_INLINE void ec_sampling_run(const ec_sampling *spec, const float *in, const float *positions, float *out)
{
    ptrdiff_t image = 1;
    for (int d = 0; d < spec->dims; d++)
        image *= spec->size[d];
    for (int i = 0; i < spec->images; i++)
        for (int p = 0; p < spec->count; p++) {
            ec_sample_taps_of taps;
            ec_sample_find(spec, positions + ((ptrdiff_t)i * spec->count + p) * spec->dims, &taps);
            for (int c = 0; c < spec->channels; c++) {
                const ptrdiff_t plane = (ptrdiff_t)i * spec->channels + c;
                out[plane * spec->count + p] = ec_sample_sum(spec, in + plane * image, &taps);
            }
        }
}

#endif
