/* A convolution by a matrix unit that sums outer products, in its own mode from the first product to the
   last result: what ec_conv_outer.h asks of the header of such a unit (ec_outer_<isa>.h), which defines

     ec_outer_run(call)     all results of a call; enters the unit's mode, and leaves it

   Pixels lie in planes, one behind the other.  A position is a pixel of a plane, counted row by row over
   `pitch` columns, of which out_w are output pixels and the rest are in between rows.  The sum of filter f at
   position p is

     sum[f][p] = bias[f] + SUM_k filter[k][f] * in[offsets[k] + p]

   so that a vector of neighbouring positions is one load, whatever kernel, stride and dilation made the
   offsets.  Filters lie by tiles: of every k those of a tile side by side, zeros where there are none.  A
   tile has two vectors of filters, which meet two vectors of positions, but the last may have one, which
   meets four; where all positions are a vector at most (`alone`), every tile has four.

   The result is after(before(sum) + residual), either a pair of bounds, stored as plane f of the output,
   row by row of out_w pixels; the residual lies as the output does, and may be the output itself. */
#ifndef EC_OUTER_H
#define EC_OUTER_H

/* Offsets count words; out_plane is bytes.  Bounds are applied where `bounded` says so,
   those before the residual only with one. */
typedef struct ec_outer {
    const float *in, *filters, *bias, *residual; /* NULL: none */
    float *out;
    const int32_t *offsets;
    int64_t depth;                           /* offsets, and products of a sum */
    int64_t positions, pitch, out_w;         /* from the first output pixel to the last, inclusive */
    int64_t out_c, out_plane;                /* filters; bytes from plane to plane */
    int64_t alone, bounded, bounded_before;
    float low_before, high_before, low, high;
} ec_outer;

#endif
