/* The loops of ec_gemm.h once more, of which a part can be left out: the micro-kernel (computes), or
   packing (bench_packs, read at run time so that the compiler makes the same code of the rest).  Of
   one group and one image.  Needs ec_gemm.h. */
static volatile int bench_packs = 0;

EC_INLINE void bench_set(const ec_gemm g, const ec_window w, const ec_epilogue e,
                         const ec_gemm_operands o, const ec_channel_set set, int computes)
{
    const int tiles = ec_gemm_tiles(g);
    for (int far = 0; far < g.lines; far += g.lines_far) {
        const int far_end = ec_min_i(far + g.lines_far, g.lines);
        for (int f = 0; f < tiles; f += g.tiles_far) {
            const int f_end = ec_min_i(f + g.tiles_far, tiles);
            for (int line = far; line < far_end; line += g.chunk) {
                const int end = ec_min_i(line + g.chunk, far_end);
                if (!computes || bench_packs)
                    ec_gemm_pack(g, w, o, set, 0, line, end);
                EC_IN_ORDER(); /* these panels are read before the next ones overwrite them */
                if (computes)
                    ec_gemm_chunk(g, w, e, o, set, 0, line, end, f, f_end);
            }
        }
    }
}

EC_INLINE void bench_run(const ec_gemm g, const ec_window w, const ec_epilogue e,
                         const ec_gemm_operands o, int computes)
{
    const char *filters = o.filters;
    for (int c = 0; c < g.in_c; c += g.nc) {
        const int n = ec_min_i(g.nc, g.in_c - c);
        const ec_channel_set set = {o.in, filters, o.bias, 0, c, n, c == 0, c + n == g.in_c};
        bench_set(g, w, e, o, set, computes);
        filters += ec_gemm_set_bytes(g, w, n);
    }
}
