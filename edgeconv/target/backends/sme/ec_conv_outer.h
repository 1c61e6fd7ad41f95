/* Direct convolution by outer products on planes of pixels, all of it in the mode of a matrix unit
   (ec_outer.h), on NCHW.

     for every image and group: for some rows of the output: the planes that they meet;
       for every tile of filters and of positions: the unit

   Without stride and padding the planes are the input itself.  Else they are copied with their border, and
   phase by phase of the strides: kernel position (ky, kx) is in phase (ky * dilation mod stride, the same of
   columns), so that neighbouring output pixels meet neighbouring words of one plane whatever the stride.

   Needs ec_epilogue.h, ec_window.h, ec_outer.h and what that asks for. */
#ifndef EC_CONV_OUTER_H
#define EC_CONV_OUTER_H

/* Constants at the call.  Phases of rows and columns up to the last that the kernel meets; `rows` of the
   output are computed at a time, and as many planes as channels and phases have held_h rows of `pitch`
   words.  in_place: these are the input's own.  planes_at: words of the workspace before them, which offsets
   take.  alone: see ec_outer. */
typedef struct ec_conv_outer {
    ec_window window;
    int batch, groups, in_c, out_c; /* channels of a group */
    int in_place, phases_h, phases_w, rows, held_h, pitch;
    int alone;
    ptrdiff_t planes_at;
    ptrdiff_t group_filters;        /* floats */
} ec_conv_outer;

typedef struct ec_conv_outer_operands {
    const float *in, *filters, *bias, *residual;
    float *out, *workspace;
} ec_conv_outer_operands;

/* The offsets of a group: kernel position by kernel position, channel by channel. */
EC_INLINE void ec_conv_outer_offsets(const ec_conv_outer spec, int32_t *offsets)
{
    const ec_window window = spec.window;
    const int plane = spec.held_h * spec.pitch;
    for (int ky = 0; ky < window.kernel_h; ky++)
        for (int kx = 0; kx < window.kernel_w; kx++) {
            const int y = ky * window.dilation_h, x = kx * window.dilation_w;
            const int row = y / window.stride_h, column = x / window.stride_w;
            const int down = y % window.stride_h, across = x % window.stride_w;
            const int first = (down * spec.phases_w + across) * spec.in_c;
            for (int c = 0; c < spec.in_c; c++)
                *offsets++ = (first + c) * plane + row * spec.pitch + column;
        }
}

/* Every stride-th column from column x on, as far as they lie in the row; zeros for the others. */
EC_INLINE void ec_conv_outer_row(const ec_conv_outer spec, const float *restrict row, int x, float *restrict to)
{
    const int stride = spec.window.stride_w, in_w = spec.window.in_w;
    const ec_taps met = ec_taps_within(x, spec.pitch, stride, 0, in_w);
    const int from = ec_min_i(met.from, spec.pitch), end = ec_max_i(met.to, from);
    for (int i = 0; i < from; i++)
        to[i] = 0.0f;
    if (stride == 1)
        memcpy(to + from, row + x + from, (size_t)(end - from) * sizeof *to);
    else {
        int i = from;
        for (; stride == 2 && i + EC_VL <= end && x + 2 * (i + EC_VL) <= in_w; i += EC_VL) {
            ec_vec even, odd;
            ec_deinterleave(ec_load(row + x + 2 * i), ec_load(row + x + 2 * i + EC_VL), &even, &odd);
            ec_store(to + i, even);
        }
        EC_NO_UNROLL
        for (; i < end; i++)
            to[i] = row[x + i * stride];
    }
    for (int i = end; i < spec.pitch; i++)
        to[i] = 0.0f;
}

/* The planes that output rows from y0 on meet of a group that begins at `in`. */
EC_NEST void ec_conv_outer_planes(const ec_conv_outer spec, const float *in, int y0, float *planes)
{
    const ec_window window = spec.window;
    const ptrdiff_t plane = (ptrdiff_t)window.in_h * window.in_w;
    for (int down = 0; down < spec.phases_h; down++)
        for (int across = 0; across < spec.phases_w; across++)
            for (int c = 0; c < spec.in_c; c++)
                for (int i = 0; i < spec.held_h; i++, planes += spec.pitch) {
                    const int y = (y0 + i) * window.stride_h + down - window.pad_h;
                    if (y >= 0 && y < window.in_h)
                        ec_conv_outer_row(spec, in + c * plane + (ptrdiff_t)y * window.in_w, across - window.pad_w,
                                          planes);
                    else
                        memset(planes, 0, (size_t)spec.pitch * sizeof *planes);
                }
}

/* What the unit does of an activation: bounds, or nothing. */
EC_INLINE int ec_outer_is_bounds(int kind) { return kind == EC_ACT_RELU || kind == EC_ACT_CLIP; }
EC_INLINE float ec_outer_low(int kind, float alpha)
{
    return kind == EC_ACT_RELU ? 0.0f : kind == EC_ACT_CLIP ? alpha : -__builtin_inff();
}
EC_INLINE float ec_outer_high(int kind, float beta) { return kind == EC_ACT_CLIP ? beta : __builtin_inff(); }

/* What it leaves of an epilogue to ordinary vectors: an activation that is no bounds, and all behind it. */
EC_INLINE ec_epilogue ec_outer_left(const ec_epilogue epilogue)
{
    ec_epilogue left = epilogue;
    left.has_residual = 0;
    if (epilogue.before == EC_ACT_NONE || ec_outer_is_bounds(epilogue.before))
        left.before = EC_ACT_NONE;
    if (left.before == EC_ACT_NONE && ec_outer_is_bounds(epilogue.after))
        left.after = EC_ACT_NONE;
    return left;
}

/* A call of the unit for the result of these sums, of which `left` is not its business. */
EC_INLINE ec_outer ec_outer_finishing(const ec_epilogue epilogue, const ec_epilogue left)
{
    const int before = left.before == EC_ACT_NONE ? epilogue.before : EC_ACT_NONE;
    const int after = left.before == EC_ACT_NONE && left.after == EC_ACT_NONE ? epilogue.after : EC_ACT_NONE;
    ec_outer call = {
        .bounded = ec_outer_is_bounds(after), .bounded_before = ec_outer_is_bounds(before),
        .low_before = ec_outer_low(before, epilogue.before_alpha),
        .high_before = ec_outer_high(before, epilogue.before_beta),
        .low = ec_outer_low(after, epilogue.after_alpha), .high = ec_outer_high(after, epilogue.after_beta)};
    if (!epilogue.has_residual && call.bounded_before) { /* then one pair of bounds is both */
        const float low = call.low, high = call.high;
        call.low = call.low_before < low ? low : call.low_before > high ? high : call.low_before;
        call.high = call.high_before < low ? low : call.high_before > high ? high : call.high_before;
        call.bounded = 1;
    }
    return call;
}

EC_NEST void ec_conv_outer_run(const ec_conv_outer spec, const ec_epilogue epilogue,
                               const ec_conv_outer_operands operands)
{
    const ec_window window = spec.window;
    const ptrdiff_t in_group = (ptrdiff_t)spec.in_c * window.in_h * window.in_w;
    const ptrdiff_t out_plane = (ptrdiff_t)window.out_h * window.out_w, out_group = spec.out_c * out_plane;
    const ec_epilogue left = ec_outer_left(epilogue);
    const ptrdiff_t all = spec.batch * spec.groups * out_group;
    ec_outer call = ec_outer_finishing(epilogue, left);
    int32_t *const offsets = (int32_t *)(void *)operands.workspace;
    float *const planes = operands.workspace + spec.planes_at;
    ec_conv_outer_offsets(spec, offsets);
    for (int i = 0; i < spec.batch * spec.groups; i++) {
        const int group = i % spec.groups;
        const float *const in = operands.in + i * in_group;
        for (int y = 0; y < window.out_h; y += spec.rows) {
            const int rows = ec_min_i(spec.rows, window.out_h - y);
            const int64_t positions = (int64_t)(rows - 1) * spec.pitch + window.out_w;
            const int rows_join = spec.pitch == window.out_w; /* nothing is in between */
            const ptrdiff_t at = i * out_group + (ptrdiff_t)y * window.out_w;
            if (!spec.in_place)
                ec_conv_outer_planes(spec, in, y, planes);
            call.in = spec.in_place ? in : planes;
            call.filters = operands.filters + group * spec.group_filters;
            call.bias = operands.bias + group * spec.out_c;
            call.residual = epilogue.has_residual ? operands.residual + at : NULL;
            call.out = operands.out + at;
            call.offsets = offsets;
            call.depth = (int64_t)spec.in_c * window.kernel_h * window.kernel_w;
            call.positions = positions;
            call.pitch = rows_join ? positions : spec.pitch;
            call.out_w = rows_join ? positions : window.out_w;
            call.out_c = spec.out_c;
            call.out_plane = out_plane * (ptrdiff_t)sizeof(float);
            call.alone = spec.alone;
            ec_outer_run(&call);
        }
    }
    if (left.before == EC_ACT_NONE && left.after == EC_ACT_NONE)
        return;
    for (ptrdiff_t at = 0; at < all; at += EC_VL) {
        const int n = (int)(all - at < EC_VL ? all - at : EC_VL);
        ec_finish(left, ec_read(operands.out + at, n), NULL, operands.out, at, n);
    }
}

#endif
