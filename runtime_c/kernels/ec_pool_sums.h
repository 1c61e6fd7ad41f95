/* Maximum or average over all pixels of an image whose rows come one after the other.  Needs ec_pool_global.h. */
#ifndef EC_POOL_SUMS_H
#define EC_POOL_SUMS_H

/* How the image lies: rows of `width` pixels, of which memory holds `rows` in turn, and how many elements behind each
   other rows, pixels and channels are; of blocks of channels those of a block are side by side, and `channel` is a
   part of the distance between blocks. */
typedef struct ec_pool_lines {
    int width, rows;
    ptrdiff_t row, pixel, channel;
} ec_pool_lines;

/* Rows [row0, row1) of the image.  sums: EC_POOL_CHAINS vectors for every vector of channels, in which all adds up as in
   ec_pool_reduce; they begin with the image's first row, and its last one makes out of them what is asked. */
EC_INLINE void ec_pool_global_sums(const ec_pool_global spec, const ec_epilogue epilogue, const ec_pool_lines lines,
                                   const void *in, const void *residual, float *sums, void *out, int row0, int row1)
{
    const int whole = spec.pixels - spec.pixels % EC_POOL_CHAINS;
    for (int c = 0; c < spec.channels; c += EC_VL) {
        const int n = ec_min_i(EC_VL, spec.channels - c);
        float *const own = sums + (ptrdiff_t)c * EC_POOL_CHAINS;
        if (row0 == 0)
            for (int k = 0; k < EC_POOL_CHAINS; k++)
                ec_store(own + k * EC_VL, ec_pool_start(spec.max));
        for (int y = row0; y < row1; y++)
            for (int x = 0; x < lines.width; x++) {
                const int i = y * lines.width + x;
                float *const chain = own + (i < whole ? i % EC_POOL_CHAINS : 0) * EC_VL;
                const ec_vec pixel = ec_read_as(
                    in, ec_ring(y, lines.rows) * lines.row + x * lines.pixel + c * lines.channel, n, spec.in_as);
                ec_store(chain, ec_pool_add(spec.max, ec_load(chain), pixel));
            }
        if (row1 * lines.width == spec.pixels) {
            const ec_vec one = ec_pool_add(spec.max, ec_load(own), ec_load(own + EC_VL));
            const ec_vec other = ec_pool_add(spec.max, ec_load(own + 2 * EC_VL), ec_load(own + 3 * EC_VL));
            const ec_vec sum = ec_pool_add(spec.max, one, other);
            ec_finish(epilogue, ec_mul(sum, ec_pool_global_scale(spec)), residual, out, c, n);
        }
    }
}

#endif
