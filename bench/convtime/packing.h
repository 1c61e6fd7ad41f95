/* The loops of ec_gemm.h once more, of which a part can be left out: the micro-kernel (computes), or
   packing (bench_packs, read at run time so that the compiler makes the same code of the rest).  Of
   one group and one image.  Needs ec_gemm.h. */
static volatile int bench_packs = 0;

EC_INLINE void bench_set(const ec_gemm spec, const ec_gemm_given given, const ec_channel_set set,
                         int computes)
{
    const int tiles = ec_gemm_tiles(spec);
    for (int far = 0; far < spec.lines; far += spec.lines_far) {
        const int far_end = ec_min_i(far + spec.lines_far, spec.lines);
        for (int filter = 0; filter < tiles; filter += spec.tiles_far) {
            const int f_end = ec_min_i(filter + spec.tiles_far, tiles);
            for (int line = far; line < far_end; line += spec.chunk) {
                const int end = ec_min_i(line + spec.chunk, far_end);
                if (!computes || bench_packs)
                    ec_gemm_pack(spec, given, set, 0, line, end);
                EC_IN_ORDER(); /* these panels are read before the next ones overwrite them */
                if (computes)
                    ec_gemm_chunk(spec, given, set, 0, line, end, filter, f_end);
            }
        }
    }
}

EC_INLINE void bench_run(const ec_gemm spec, const ec_window window, const ec_epilogue epilogue,
                         const ec_gemm_operands operands, int computes)
{
    const ec_gemm_given given = {&window, &epilogue, &operands};
    const char *filters = operands.filters;
    for (int c = 0; c < spec.in_c; c += spec.nc) {
        const int n = ec_min_i(spec.nc, spec.in_c - c);
        const ec_channel_set set = {.in = operands.in, .filters = filters, .bias = operands.bias, .c = c, .n = n,
                                    .first = c == 0, .last = c + n == spec.in_c};
        bench_set(spec, given, set, computes);
        filters += ec_gemm_set_bytes(spec, window, n);
    }
}
