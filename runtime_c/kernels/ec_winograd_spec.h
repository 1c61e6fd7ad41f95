/* The constants of a Winograd convolution, and what it is given: see ec_winograd.h.  Needs ec_epilogue.h. */
#ifndef EC_WINOGRAD_SPEC_H
#define EC_WINOGRAD_SPEC_H

/* Inputs of a tile in either direction, and in all, at most. */
enum { EC_WINOGRAD_SIDE = 10, EC_WINOGRAD_TILE = 64 };
/* Bytes of a word of the panel, of filters and of sums. */
enum { EC_WORD = sizeof(float) };
/* Bytes from filters that are multiplied to those that are fetched meanwhile, and steps at a time. */
enum { EC_WINOGRAD_PREFETCH = 8192, EC_WINOGRAD_FEW = 2 };

/* Constants at the call. */
typedef struct ec_winograd {
    int micro_kernel, packed;     /* whether its rows are packed, each step's side by side */
    int batch, groups;            /* images; groups of channels, of whole vectors if there are several */
    int in_c, vectors;            /* of a group: channels, words of them where these are pairs; vectors of
                                     filters, the last one padded */
    int in_h, in_w, out_h, out_w;
    int pairs;                    /* of int8: words are pairs of int16; else float32 */
    int pad_h, pad_w;             /* above and to the left of the input */
    int taken_h, taken_w;         /* inputs of a tile; with one row or column that is not transformed */
    int made_h, made_w;           /* outputs of a tile */
    int in_rows_by, in_columns_by;   /* routines that transform rows and columns of an input tile, */
    int out_rows_by, out_columns_by; /* and of sums */
    int across, tiles;            /* tiles of a row, of an image */
    int summed;                   /* rows of tiles whose products are summed */
    int phases_h, phases_w; /* of rows and columns, of which a convolution with strides has its channels, */
    int whole_h, whole_w;   /* and the first of these, whose filters have all taps; 0 without strides */
    int dilation_h, dilation_w; /* 0 without dilation */
    int strip;                    /* tiles of a strip, a multiple of mr */
    int mr, nv;                   /* of the micro-kernel */
    int fetching;                 /* of filters: whether they are prefetched */
#ifdef EC_PREFETCH_DISTANCES
    int prefetch_filters;         /* bytes from the filters that are multiplied to those that are fetched */
    int prefetch_tiles;           /* meanwhile, and the same of tiles; 0: none are */
#endif
    int line;                     /* words of a tile's channels in the panel, padding included */
    /* Where words are pairs: */
    int channels, out_c;          /* of a group */
    int in_pixel, out_pixel;      /* channels of a pixel, those of all groups */
    int zero;                     /* what stands for zero in the input */
    int start_at;                 /* the position whose sums begin with those that are given */
    int inverse;                  /* what results are multiplied by, modulo 2^32 */
    ec_requantise requantise;     /* of results */
} ec_winograd;

typedef struct ec_winograd_operands {
    const void *in, *filters;          /* filters are words */
    const float *bias;
    const int32_t *start, *multiplier; /* in place of it where words are pairs, one of each per filter */
    const void *residual;
    void *out;
    float *panel; /* the workspace: words of a strip, behind which the sums lie */
} ec_winograd_operands;

EC_INLINE int ec_winograd_positions(const ec_winograd spec)
{
    return spec.taken_h * spec.taken_w;
}

/* From a tap of a filter to the next: what a tile has of rows and columns lies as far apart. */
EC_INLINE int ec_winograd_apart_h(const ec_winograd spec) { return ec_max_i(spec.dilation_h, 1); }
EC_INLINE int ec_winograd_apart_w(const ec_winograd spec) { return ec_max_i(spec.dilation_w, 1); }

/* Tiles of a strip in the panel, with those that are summed. */
EC_INLINE int ec_winograd_held(const ec_winograd spec)
{
    return spec.strip + (spec.summed - 1) * spec.across;
}

/* The outputs that are made at a time: every pixel, or with dilation those a step apart from this one,
   which have the same pixels in common. */
typedef struct ec_winograd_start {
    int y, x;
} ec_winograd_start;

/* Where a tile's first output lies. */
EC_INLINE ec_winograd_start ec_winograd_at(const ec_winograd spec, ec_winograd_start start, int tile)
{
    const ec_winograd_start found = {
        .y = start.y + tile / spec.across * spec.made_h * ec_winograd_apart_h(spec),
        .x = start.x + tile % spec.across * spec.made_w * ec_winograd_apart_w(spec)};
    return found;
}

/* The number of the first filter of a vector, where words are pairs. */
EC_INLINE int ec_winograd_channel(const ec_winograd spec, int vector)
{
    return vector / spec.vectors * spec.out_c + vector % spec.vectors * EC_VL;
}

#endif
