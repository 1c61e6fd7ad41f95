/* Columns of blocks added up to the image that they came from (ONNX's Col2Im), the sizes of blocks known at run
   time. */
#ifndef EC_COL2IM_H
#define EC_COL2IM_H

#define EC_COL2IM_DIMS 5

/* in[planes][taps][blocks] -> out[planes][size...]. */
typedef struct ec_col2im {
    int planes, taps, blocks, dims;
    int size[EC_COL2IM_DIMS], stride[EC_COL2IM_DIMS], dilation[EC_COL2IM_DIMS], begin[EC_COL2IM_DIMS],
        end[EC_COL2IM_DIMS];
} ec_col2im;

/* Where a tap of a block lies in a plane; -1 outside of it.  `shape`: that of a block. */
EC_INLINE ptrdiff_t ec_col2im_at(const ec_col2im *spec, const int64_t *shape, int tap, int block)
{
    ptrdiff_t at = 0, stride = 1;
    for (int d = spec->dims - 1; d >= 0; d--) {
        const int kernel = shape[d] < 1 ? 1 : shape[d] < spec->taps ? (int)shape[d] : spec->taps;
        const int room = spec->size[d] + spec->begin[d] + spec->end[d] - (kernel - 1) * spec->dilation[d] - 1;
        const int count = room < 0 ? 1 : room / spec->stride[d] + 1;
        const int place = block % count * spec->stride[d] + tap % kernel * spec->dilation[d] - spec->begin[d];
        if (place < 0 || place >= spec->size[d])
            return -1;
        at += place * stride;
        stride *= spec->size[d];
        block /= count;
        tap /= kernel;
    }
    return at;
}

EC_INLINE void ec_col2im_run(const ec_col2im *spec, const float *in, const int64_t *shape, float *out)
{
    ptrdiff_t plane = 1;
    for (int d = 0; d < spec->dims; d++)
        plane *= spec->size[d];
    memset(out, 0, (size_t)spec->planes * (size_t)plane * sizeof *out);
    for (int t = 0; t < spec->taps; t++)
        for (int b = 0; b < spec->blocks; b++) {
            const ptrdiff_t at = ec_col2im_at(spec, shape, t, b);
            for (int i = 0; i < spec->planes && at >= 0; i++)
                out[i * plane + at] += in[((ptrdiff_t)i * spec->taps + t) * spec->blocks + b];
        }
}

#endif
