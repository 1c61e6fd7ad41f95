/* What the strips of a direct convolution are given, and their sums: how these start, and what they become.

   Needs ec_epilogue.h, ec_decode.h, ec_strips.h and ec_window.h. */
#ifndef EC_CONV_SUMS_H
#define EC_CONV_SUMS_H

/* `vectors` of filters, of which the last stores so many lanes, over the strips of every row.  Each strip
   fetches `lines` cache lines of the filters of the next chunk. */
typedef struct ec_conv_tile {
    int vectors, lanes, lines;
    ec_strips strips[EC_STRIPS];
} ec_conv_tile;

enum { EC_CONV_TILE, EC_CONV_LAST_TILE };

/* All members are constants at the call.  Strides count elements.  in_as, filters_as: the formats
   of the input and of the filters, EC_F32 where nothing is said.

   rows_per_chunk rows of the output come under all filters before the next rows.  Where it is said,
   channels_per_chunk: tiles of filters take the input's channels in chunks, so that the filters of the
   next chunk can be prefetched of use; between chunks the sums wait in the output or, as they must
   where that is not float32, in the workspace.  decode_filters: to the workspace, those of a tile and
   chunk.  decoded_rows: rows of the input, those that rows_per_chunk rows of the output read, are decoded to
   the workspace once for all filters. */
typedef struct ec_conv {
    ec_window window;                           /* as rows are walked: pointwise ones may be regrouped */
    int images;                                 /* 0: one */
    ptrdiff_t in_image, out_image;              /* from one image to the next */
    int in_c, in_block;                         /* channels, and those side by side in the input */
    ptrdiff_t in_block_stride;                  /* from one channel block to the next */
    ptrdiff_t in_plane, in_row, in_pixel;       /* from one slice, row, pixel to the next */
    ptrdiff_t out_plane, out_row, out_pixel;    /* */
    ptrdiff_t out_vec;                          /* from one vector of channels to the next */
    int group_in_c, group_out_c;                /* channels of a group; 0: there is one */
    int in_as, filters_as;                      /* */
    ptrdiff_t units_at;                         /* so many floats behind a channel's bias lies the unit
                                                   of its filters; 0: they have none */
    int tiles;                                  /* of filters */
    int rows_per_chunk, channels_per_chunk;       /* */
    int decode_filters, sums_apart, decoded_rows; /* */
    ptrdiff_t sums_at, decoded_rows_at;         /* floats of the workspace before them */
#ifdef EC_PREFETCH_DISTANCES
    int prefetch_filters;                       /* bytes from the filters that are multiplied to those
                                                   that are fetched meanwhile; 0: none are */
    int prefetch_input;                         /* the same of the input, in blocks of channels */
#endif
    ec_conv_tile tile[2];                       /* EC_CONV_TILE, EC_CONV_LAST_TILE */
} ec_conv;

/* A tile of filters on some rows of the output, of the input channels [c0, c1): the first or last of its
   chunks, or both.  Pointers are those of the tile.  in: memory begins with row in_row0 of the input.
   Sums that wait lie in `sums`, mr * nv vectors per strip, in the order in which every chunk takes the strips.
   next: the filters that are wanted next.  Both move on strip by strip. */
typedef struct ec_conv_chunk {
    int c0, c1;
    int first, last;
    int in_row0;
    const void *in, *filters;
    const float *bias;
    const void *residual;
    void *out;
    const char *next;
    float *sums;
} ec_conv_chunk;

/* The input as strips meet it: as it is, or some rows of every plane decoded. */
EC_INLINE int ec_conv_in_as(const ec_conv spec) { return spec.decoded_rows ? EC_F32 : spec.in_as; }
EC_INLINE ptrdiff_t ec_conv_in_plane(const ec_conv spec)
{
    return spec.decoded_rows ? spec.decoded_rows * spec.in_row : spec.in_plane;
}
EC_INLINE ptrdiff_t ec_conv_in_block_stride(const ec_conv spec)
{
    return spec.decoded_rows ? spec.window.in_d * ec_conv_in_plane(spec) : spec.in_block_stride;
}

EC_INLINE int ec_conv_filters_as(const ec_conv spec)
{
    return spec.decode_filters ? EC_F32 : spec.filters_as;
}
/* Kernel positions of a channel. */
EC_INLINE int ec_conv_taps(const ec_conv spec)
{
    return spec.window.kernel_d * spec.window.kernel_h * spec.window.kernel_w;
}

/* What is added to the sums of this chunk, for vector j of row p: the residual in the first one, the
   sums of those before in later ones. */
EC_INLINE ec_vec ec_conv_before(const ec_conv spec, const ec_epilogue epilogue, const ec_conv_chunk *chunk,
                                const void *residual, const ec_tile_place place, int p, int j, int nv)
{
    const ptrdiff_t at = ec_tile_at(place, p, j);
    const int n = ec_tile_lanes(place, j, nv);
    if (chunk->first)
        return ec_read_as(residual, at, n, epilogue.residual_as);
    return spec.sums_apart ? ec_load(chunk->sums + (p * nv + j) * EC_VL)
                        : ec_read_as(chunk->out, at, n, EC_F32);
}

/* Sums start as the bias; a strip's later chunks go on from those that wait.  Where they wait in the
   output, the residual comes in with the first chunk, because its memory may be the output's. */
EC_INLINE void ec_conv_begin(const ec_conv spec, const ec_epilogue epilogue, const ec_conv_chunk *chunk,
                             ec_tile *tile, const float *bias, const void *residual,
                             const ec_tile_place place, int mr, int nv)
{
    ec_vec rows[EC_TILE_VECS];
    ec_tile_init(tile, bias, mr, nv);
    if (chunk->first && !residual)
        return;
    ec_tile_read(tile, rows, mr, nv);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ec_vec sum = ec_conv_before(spec, epilogue, chunk, residual, place, p, j, nv);
            rows[p * nv + j] = chunk->first ? ec_add(rows[p * nv + j], sum) : sum;
        }
    }
    ec_tile_write(tile, rows, mr, nv);
}

/* Sums in units of their channels' scales become what they stand for, and are added to the bias in the
   first chunk, to those that wait in later ones, which are never in units. */
EC_INLINE void ec_conv_scale(const ec_conv spec, const ec_epilogue epilogue, const ec_conv_chunk *chunk,
                             ec_vec *rows, const float *bias, const void *residual,
                             const ec_tile_place place, int mr, int nv)
{
    EC_UNROLL
    for (int j = 0; j < nv; j++) {
        const ec_vec unit = ec_load(bias + spec.units_at + j * EC_VL);
        const ec_vec start = chunk->first ? ec_load(bias + j * EC_VL) : ec_set1(0.0f);
        EC_UNROLL
        for (int p = 0; p < mr; p++)
            rows[p * nv + j] = ec_fma(rows[p * nv + j], unit, start);
    }
    if (chunk->first && !residual)
        return;
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++)
            rows[p * nv + j] =
                ec_add(rows[p * nv + j], ec_conv_before(spec, epilogue, chunk, residual, place, p, j, nv));
    }
}

#endif
