/* Rows of the output as strips of neighbouring pixels, one micro-kernel call each, and what a convolution
   over them reads and writes. */
#ifndef EC_STRIPS_H
#define EC_STRIPS_H

/* `count` strips of `width` pixels side by side, from output column `column` on.  edge: some kernel
   column may fall outside the input.  Borders and an uneven row make up to EC_STRIPS kinds of strips. */
typedef struct ec_strips {
    int column, count, width, edge;
} ec_strips;

enum { EC_STRIPS = 4 };

typedef struct ec_conv_operands {
    const void *in, *filters;
    const float *bias;
    const void *residual;
    void *out;
    float *workspace;
} ec_conv_operands;

#endif
