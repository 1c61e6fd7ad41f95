/* From one of NCHW, NHWC and NCHW[x]c to another, elements stored as fmt in both.  Needs ec_copy.h and
   ec_transpose.h. */
#ifndef EC_CONVERT_H
#define EC_CONVERT_H

EC_INLINE void ec_nchw_to_nhwc(const void *in, void *out, int images, int channels, int pixels,
                               int fmt EC_WORKER(, int from, int to))
{
    const ptrdiff_t image = (ptrdiff_t)channels * pixels * EC_STORED_BYTES(fmt); /* bytes */
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, images), images); i++)
        ec_transpose_matrix((const char *)in + i * image, pixels, channels, pixels,
                            (char *)out + i * image, channels, channels, fmt);
}

/* The rows [row0, row1) of one image, of whose rows memory holds so many at a time: row y lies at
   y modulo that. */
EC_INLINE void ec_nchw_to_nhwc_rows(const void *in, void *out, int channels, int width, int in_rows,
                                    int out_rows, int fmt, int row0, int row1)
{
    const ptrdiff_t row = (ptrdiff_t)width * channels;
    for (int y = row0; y < row1; y++)
        ec_transpose_matrix(ec_at(in, (ptrdiff_t)(y % in_rows) * width, fmt), (ptrdiff_t)in_rows * width,
                            channels, width, ec_place(out, y % out_rows * row, fmt), channels, channels,
                            fmt);
}

EC_INLINE void ec_nhwc_to_nchw(const void *in, void *out, int images, int channels, int pixels,
                               int fmt EC_WORKER(, int from, int to))
{
    ec_nchw_to_nhwc(in, out, images, pixels, channels, fmt EC_WORKER(, from, to)); /* the same with both exchanged */
}

/* As ec_nchw_to_nhwc_rows. */
EC_INLINE void ec_nhwc_to_nchw_rows(const void *in, void *out, int channels, int width, int in_rows,
                                    int out_rows, int fmt, int row0, int row1)
{
    const ptrdiff_t row = (ptrdiff_t)width * channels;
    for (int y = row0; y < row1; y++)
        ec_transpose_matrix(ec_at(in, y % in_rows * row, fmt), channels, width, channels,
                            ec_place(out, (ptrdiff_t)(y % out_rows) * width, fmt), (ptrdiff_t)out_rows * width,
                            width, fmt);
}

/* The channels of block i, counted over all images. */
EC_INLINE int ec_block_channels(int i, int channels, int block)
{
    const int blocks = (channels + block - 1) / block;
    return ec_min_i(block, channels - i % blocks * block);
}
/* The first channel of block i, counted over all images that have `channels` each. */
EC_INLINE ptrdiff_t ec_block_start(int i, int channels, int block)
{
    const int blocks = (channels + block - 1) / block;
    return (ptrdiff_t)(i / blocks) * channels + i % blocks * block;
}

EC_INLINE void ec_nchw_to_blocks(const void *in, void *out, int images, int channels, int pixels,
                                 int block, int fmt EC_WORKER(, int from, int to))
{
    const int count = images * ((channels + block - 1) / block);
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++)
        ec_transpose_matrix(ec_at(in, ec_block_start(i, channels, block) * pixels, fmt), pixels,
                            ec_block_channels(i, channels, block), pixels,
                            ec_place(out, (ptrdiff_t)i * pixels * block, fmt), block, block, fmt);
}

EC_INLINE void ec_blocks_to_nchw(const void *in, void *out, int images, int channels, int pixels,
                                 int block, int fmt EC_WORKER(, int from, int to))
{
    const int count = images * ((channels + block - 1) / block);
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, count), count); i++)
        ec_transpose_matrix(ec_at(in, (ptrdiff_t)i * pixels * block, fmt), block, pixels,
                            ec_block_channels(i, channels, block),
                            ec_place(out, ec_block_start(i, channels, block) * pixels, fmt),
                            pixels, pixels, fmt);
}

/* In NHWC a block is `block` of the `channels` of every pixel. */
EC_INLINE void ec_nhwc_to_blocks(const void *in, void *out, int images, int channels, int pixels,
                                 int block, int fmt EC_WORKER(, int from, int to))
{
    const int blocks = (channels + block - 1) / block;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, images * blocks), images * blocks); i++) {
        const int n = ec_block_channels(i, channels, block);
        const ptrdiff_t at = (ptrdiff_t)(i / blocks) * pixels * channels + i % blocks * block;
        const void *source = ec_at(in, at, fmt);
        void *result = ec_place(out, (ptrdiff_t)i * pixels * block, fmt);
        if (n < block)
            ec_store_zeros(result, (ptrdiff_t)pixels * block, fmt);
        if (n == block)
            ec_copy_rows(source, fmt, channels, result, fmt, block, pixels, block);
        else
            ec_copy_rows(source, fmt, channels, result, fmt, block, pixels, n);
    }
}

EC_INLINE void ec_blocks_to_nhwc(const void *in, void *out, int images, int channels, int pixels,
                                 int block, int fmt EC_WORKER(, int from, int to))
{
    const int blocks = (channels + block - 1) / block;
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, images * blocks), images * blocks); i++) {
        const int n = ec_block_channels(i, channels, block);
        const ptrdiff_t at = (ptrdiff_t)(i / blocks) * pixels * channels + i % blocks * block;
        const void *source = ec_at(in, (ptrdiff_t)i * pixels * block, fmt);
        void *result = ec_place(out, at, fmt);
        if (n == block)
            ec_copy_rows(source, fmt, block, result, fmt, channels, pixels, block);
        else
            ec_copy_rows(source, fmt, block, result, fmt, channels, pixels, n);
    }
}

#endif
