/* From one of NCHW, NHWC and NCHW[x]c to another.  Needs ec_copy.h and ec_transpose.h. */
#ifndef EC_CONVERT_H
#define EC_CONVERT_H

EC_INLINE void ec_nchw_to_nhwc(const float *in, float *out, int images, int channels, int pixels)
{
    const ptrdiff_t image = (ptrdiff_t)channels * pixels;
    for (int i = 0; i < images; i++)
        ec_transpose_matrix(in + i * image, pixels, channels, pixels, out + i * image, channels,
                            channels);
}

EC_INLINE void ec_nhwc_to_nchw(const float *in, float *out, int images, int channels, int pixels)
{
    ec_nchw_to_nhwc(in, out, images, pixels, channels); /* the same with both exchanged */
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

EC_INLINE void ec_nchw_to_blocks(const float *in, float *out, int images, int channels, int pixels,
                                 int block)
{
    const int count = images * ((channels + block - 1) / block);
    for (int i = 0; i < count; i++)
        ec_transpose_matrix(in + ec_block_start(i, channels, block) * pixels, pixels,
                            ec_block_channels(i, channels, block), pixels,
                            out + (ptrdiff_t)i * pixels * block, block, block);
}

EC_INLINE void ec_blocks_to_nchw(const float *in, float *out, int images, int channels, int pixels,
                                 int block)
{
    const int count = images * ((channels + block - 1) / block);
    for (int i = 0; i < count; i++)
        ec_transpose_matrix(in + (ptrdiff_t)i * pixels * block, block, pixels,
                            ec_block_channels(i, channels, block),
                            out + ec_block_start(i, channels, block) * pixels, pixels, pixels);
}

/* In NHWC a block is `block` of the `channels` of every pixel. */
EC_INLINE void ec_nhwc_to_blocks(const float *in, float *out, int images, int channels, int pixels,
                                 int block)
{
    const int blocks = (channels + block - 1) / block;
    for (int i = 0; i < images * blocks; i++) {
        const int n = ec_block_channels(i, channels, block);
        const float *from = in + (ptrdiff_t)(i / blocks) * pixels * channels + i % blocks * block;
        float *to = out + (ptrdiff_t)i * pixels * block;
        if (n < block)
            memset(to, 0, (size_t)pixels * (size_t)block * sizeof *to);
        if (n == block)
            ec_copy_rows(from, channels, to, block, pixels, block);
        else
            ec_copy_rows(from, channels, to, block, pixels, n);
    }
}

EC_INLINE void ec_blocks_to_nhwc(const float *in, float *out, int images, int channels, int pixels,
                                 int block)
{
    const int blocks = (channels + block - 1) / block;
    for (int i = 0; i < images * blocks; i++) {
        const int n = ec_block_channels(i, channels, block);
        const float *from = in + (ptrdiff_t)i * pixels * block;
        float *to = out + (ptrdiff_t)(i / blocks) * pixels * channels + i % blocks * block;
        if (n == block)
            ec_copy_rows(from, block, to, channels, pixels, block);
        else
            ec_copy_rows(from, block, to, channels, pixels, n);
    }
}

#endif
