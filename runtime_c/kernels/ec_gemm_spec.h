/* What ec_gemm.h multiplies: its constants and operands, and where their parts lie.
   Needs ec_epilogue.h, ec_micro_kernel.h and ec_window.h. */
#ifndef EC_GEMM_SPEC_H
#define EC_GEMM_SPEC_H

enum ec_packing {
    EC_PACK_COLUMNS, /* of NCHW: panels of ec_pack_columns.h, with every channel and kernel position */
    EC_PACK_ROWS     /* of any layout: panels of the ISA, of which kernel rows and columns are parts */
};

/* `count` tiles or strips of `wide` filters or pixels, then `rest` of `narrow`. */
typedef struct ec_cut {
    int wide, count, narrow, rest;
} ec_cut;

#ifdef EC_MEMORY_SUMS
/* Sums that wait for their epilogue until the micro-kernel's mode is left: of so many lines at a time, each
   under a tile of filters.  at: words from the panels to them; line, strip: words of one.  by_tiles: all
   lines under a tile of filters come before the next one; else all tiles that are near under a line. */
typedef struct ec_waiting {
    ptrdiff_t at;
    int lines, line, strip, by_tiles;
} ec_waiting;
#endif

/* Constants at the call.  Filters are those of a group, of which there is one narrow tile at most;
   tiles are padded to whole vectors or to row_multiple rows. */
typedef struct ec_gemm {
    int micro_kernel;
    int row_multiple, packing;    /* the rows of a tile come in multiples of this */
    int batch, groups;            /* images; groups of in_c input and out_c output channels */
    int in_c, out_c;              /* */
    int nc, k;                    /* input channels of a set, and of a group of elements */
    int slices, lines;            /* of pixels */
    ec_cut filters;               /* tiles */
    ec_cut pixels, narrow_pixels; /* strips of a line, and under a narrow tile if others */
    int last_pixels;              /* of the last line, where it is shorter, in one strip; else 0 */
    int lines_far, tiles_far, chunk, tiles_near; /* see above */
    int fetching;                 /* the next tile of filters during the products with one, or not */
    int filters_as;               /* what filters are decoded from; EC_F32: they are used as stored */
    ptrdiff_t units_at;           /* offset in floats from bias[c] to the unit of its filters, or 0 */
    int start_with_residual;      /* sums begin with it; else the epilogue adds it, if at all */
#ifdef EC_PACKED_ZERO_POINTS
    int sums_at, pixels_at;       /* words from the panels to sums of the inputs of windows and of pixels; or 0 */
#endif
#ifdef EC_MEMORY_SUMS
    int k_multiple;               /* steps of channels come in multiples of this */
    ec_waiting waiting;           /* where the micro-kernel's sums are memory */
#endif
    ec_requantise requantise;     /* where int8 comes of sums of int8, in place of the epilogue */
    ec_source in;                 /* where rows are packed */
    ec_panel panel;               /* */
    ptrdiff_t in_batch;                              /* elements from image to image, */
    ptrdiff_t out_batch, out_group;                  /* to the next group of channels, */
    ptrdiff_t out_slice, out_line, out_row, out_vec; /* row and vector of the tile */
} ec_gemm;

/* Memory of a call.  panels: room for a chunk; decoded: for tiles_near tiles of filters, where they
   are not used as they are stored. */
typedef struct ec_gemm_operands {
    const void *in, *filters;
    const float *bias;
    const int32_t *start, *multiplier; /* of sums of int8, a word per channel: see ec_requantise */
#ifdef EC_PACKED_ZERO_POINTS
    const int32_t *by_sum; /* zero points of filters, negative */
#endif
    const void *residual;
    void *out;
    float *panels, *decoded;
} ec_gemm_operands;

/* What a call is given beside its spec. */
typedef struct ec_gemm_given {
    const ec_window *window;
    const ec_epilogue *epilogue;
    const ec_gemm_operands *operands;
#ifdef EC_PACKED_WINDOWS
    const ec_window *packed; /* of the input; window: of what is packed */
#endif
} ec_gemm_given;

/* Channels [c, c + n) of an image, a set of those of a group; whether they are its first and last. */
typedef struct ec_channel_set {
    const void *in;
    const char *filters;
    const float *bias;
    const int32_t *start, *multiplier;
#ifdef EC_PACKED_ZERO_POINTS
    const int32_t *by_sum;
#endif
    ptrdiff_t at; /* of the group in the output */
    int c, n, first, last;
} ec_channel_set;

enum { EC_GEMM_FEW = 16 }; /* steps between which filters are fetched */

/* A tile of filters under one line of pixels. */
typedef struct ec_gemm_line {
    const char *filters, *pixels;
    const float *bias;
    const int32_t *start, *multiplier;
#ifdef EC_PACKED_ZERO_POINTS
    const int32_t *by_sum, *inputs; /* sums of the inputs of the line's windows */
#endif
    ptrdiff_t at;
    int n, last;       /* channels; whether the line is the last */
    ec_rows met;       /* by the kernel */
    const char *next;  /* filters that its first strip fetches, */
    ptrdiff_t fetched; /* so many bytes; others those behind */
#ifdef EC_MEMORY_SUMS
    float *words;      /* where sums wait, */
    int finishing;     /* and whether they are there, */
    ec_jobs *jobs;     /* or are to be made */
#endif
} ec_gemm_line;

/* Of the tile, and pixels its vectors; else the other way round. */
EC_INLINE int ec_gemm_filters_are_rows(const ec_gemm spec)
{
    return spec.packing == EC_PACK_COLUMNS;
}

EC_INLINE int ec_gemm_tiles(const ec_gemm spec) { return spec.filters.count + spec.filters.rest; }

/* Groups that n channels make. */
EC_INLINE int ec_gemm_groups(const ec_gemm spec, int n)
{
    const int groups = ec_ceil_div(n, spec.k);
#ifdef EC_MEMORY_SUMS
    if (spec.k_multiple > 1)
        return ec_ceil_div(groups, spec.k_multiple) * spec.k_multiple;
#endif
    return groups;
}

/* Steps of the micro-kernel over n channels. */
EC_INLINE int ec_gemm_depth(const ec_gemm spec, const ec_window window, int n)
{
    return ec_gemm_groups(spec, n) * window.kernel_d * window.kernel_h * window.kernel_w;
}

/* Filters of a tile of so many, padding included. */
EC_INLINE int ec_gemm_padded(const ec_gemm spec, int filters)
{
    const int whole = ec_gemm_filters_are_rows(spec) ? spec.row_multiple : EC_VL;
    return ec_ceil_div(filters, whole) * whole;
}

/* Bytes of a tile of so many filters, as they are stored. */
EC_INLINE ptrdiff_t ec_gemm_tile_bytes(const ec_gemm spec, int filters, int depth)
{
    return EC_STORED_SPAN(spec.filters_as, (ptrdiff_t)ec_gemm_padded(spec, filters) * depth);
}

/* Bytes of all tiles of a set of n channels. */
EC_INLINE ptrdiff_t ec_gemm_set_bytes(const ec_gemm spec, const ec_window window, int n)
{
    const int depth = ec_gemm_depth(spec, window, n);
    return spec.filters.count * ec_gemm_tile_bytes(spec, spec.filters.wide, depth) +
           spec.filters.rest * ec_gemm_tile_bytes(spec, spec.filters.narrow, depth);
}

/* From the panel of a line to that of the next one. */
EC_INLINE ptrdiff_t ec_gemm_line_bytes(const ec_gemm spec, const ec_window window, int n)
{
    const ec_panel panel = spec.panel;
    if (spec.packing == EC_PACK_COLUMNS)
        return (ptrdiff_t)4 * ec_gemm_depth(spec, window, n) * spec.pixels.wide;
    return (ptrdiff_t)4 * panel.block * panel.phases * panel.wide *
           (window.stride_h / panel.row_stride);
}

#endif
