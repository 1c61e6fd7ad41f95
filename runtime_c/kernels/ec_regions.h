/* Regions of images, sampled bilinearly: RoiAlign (He et al., "Mask R-CNN", 2017), and the columns of deformable
   convolutions (Dai et al., 2017).  Needs ec_elements.h. */
#ifndef EC_REGIONS_H
#define EC_REGIONS_H

EC_INLINE int ec_floor_i(float x)
{
    const int whole = (int)x;
    return (float)whole > x ? whole - 1 : whole;
}

/* in[height][width] at (y, x), of what lies outside 0: the sum of four neighbours, or the largest of their
   weighed values. */
EC_INLINE float ec_bilinear(const float *in, int height, int width, float y, float x, int largest)
{
    float result = 0.0f;
    if (!(y > -1.0f && y < (float)height && x > -1.0f && x < (float)width))
        return result;
    const int low_y = ec_floor_i(y), low_x = ec_floor_i(x);
    for (int i = 0; i < 4; i++) {
        const int at_y = low_y + i / 2, at_x = low_x + i % 2;
        const float by_y = i / 2 ? y - (float)low_y : 1.0f - (y - (float)low_y);
        const float by_x = i % 2 ? x - (float)low_x : 1.0f - (x - (float)low_x);
        const int inside = at_y >= 0 && at_y < height && at_x >= 0 && at_x < width;
        const float value = inside ? by_y * by_x * in[(ptrdiff_t)at_y * width + at_x] : 0.0f;
        result = !largest ? result + value : i == 0 || value > result ? value : result;
    }
    return result;
}

/* in[images][channels][height][width], regions[count][4] as (x, y) of two corners, images[count] of which ->
   out[count][channels][rows][columns]; `samples` along both axes of a bin, 0: as many as it has elements. */
typedef struct ec_regions {
    int images, channels, height, width, count, rows, columns;
    int samples, largest, index_as;
    float scale, offset, least;
} ec_regions;

/* A position that samples of a region have; clamped to the image as RoiAlign has it. */
EC_INLINE float ec_onto_image(float x, int size) { return x <= 0.0f ? 0.0f : x > (float)(size - 1) ? (float)(size - 1) : x; }

EC_INLINE float ec_bin(const ec_regions *spec, const float *in, float y, float x, float high, float wide)
{
    const int by_y = spec->samples ? spec->samples : ec_max_i(-ec_floor_i(-high), 1);
    const int by_x = spec->samples ? spec->samples : ec_max_i(-ec_floor_i(-wide), 1);
    float result = 0.0f;
    for (int s = 0; s < by_y * by_x; s++) {
        const float at_y = y + ((float)(s / by_x) + 0.5f) * high / (float)by_y;
        const float at_x = x + ((float)(s % by_x) + 0.5f) * wide / (float)by_x;
        const int outside = at_y < -1.0f || at_y > (float)spec->height || at_x < -1.0f || at_x > (float)spec->width;
        const float value =
            outside ? 0.0f
                    : ec_bilinear(in, spec->height, spec->width, ec_onto_image(at_y, spec->height),
                                  ec_onto_image(at_x, spec->width), spec->largest);
        result = !spec->largest ? result + value : s == 0 || value > result ? value : result;
    }
    return spec->largest ? result : result / (float)(by_y * by_x);
}

EC_INLINE void ec_align_regions(const ec_regions *spec, const float *in, const float *regions, const void *images,
                                float *out)
{
    for (int r = 0; r < spec->count; r++, regions += 4) {
        const int64_t image = ec_get_whole(images, r, spec->index_as);
        const int of = image < 0 ? 0 : image < spec->images ? (int)image : spec->images - 1;
        const float x = regions[0] * spec->scale - spec->offset, y = regions[1] * spec->scale - spec->offset;
        float wide = regions[2] * spec->scale - spec->offset - x, high = regions[3] * spec->scale - spec->offset - y;
        wide = (wide < spec->least ? spec->least : wide) / (float)spec->columns;
        high = (high < spec->least ? spec->least : high) / (float)spec->rows;
        for (int c = 0; c < spec->channels; c++) {
            const ptrdiff_t plane = (ptrdiff_t)of * spec->channels + c;
            for (int i = 0; i < spec->rows * spec->columns; i++)
                *out++ = ec_bin(spec, in + plane * spec->height * spec->width,
                                y + (float)(i / spec->columns) * high, x + (float)(i % spec->columns) * wide, high,
                                wide);
        }
    }
}

/* in[images][channels][height][width], offsets[images][groups][taps][2][rows][columns] and, of the same but the 2,
   factors (or NULL) -> out[images][channels][taps][rows][columns]. */
typedef struct ec_deformed {
    int images, channels, height, width, groups, rows, columns;
    int kernel_width, taps, stride_y, stride_x, dilation_y, dilation_x, top, left;
} ec_deformed;

EC_INLINE void ec_deformed_columns(const ec_deformed *spec, const float *in, const float *offsets,
                                   const float *factors, float *out)
{
    const int pixels = spec->rows * spec->columns, each = spec->channels / spec->groups;
    for (int i = 0; i < spec->images * spec->channels; i++) {
        const int image = i / spec->channels, group = i % spec->channels / each;
        const float *const plane = in + (ptrdiff_t)i * spec->height * spec->width;
        for (int t = 0; t < spec->taps; t++) {
            const ptrdiff_t tap = ((ptrdiff_t)image * spec->groups + group) * spec->taps + t;
            for (int p = 0; p < pixels; p++) {
                const int row = p / spec->columns * spec->stride_y - spec->top + t / spec->kernel_width * spec->dilation_y;
                const int column =
                    p % spec->columns * spec->stride_x - spec->left + t % spec->kernel_width * spec->dilation_x;
                const float y = (float)row + offsets[2 * tap * pixels + p];
                const float x = (float)column + offsets[(2 * tap + 1) * pixels + p];
                const float value = ec_bilinear(plane, spec->height, spec->width, y, x, 0);
                *out++ = factors ? value * factors[tap * pixels + p] : value;
            }
        }
    }
}

#endif
