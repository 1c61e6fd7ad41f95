/* What recurrent cells have in common: one direction of a layer, the product of the state with the recurrent weights,
   sums of gates.  The products of the inputs are made before, over all steps at once.
   Needs ec_lanes.h, ec_activation.h and the functions that it offers before it. */
#ifndef EC_RECURRENT_H
#define EC_RECURRENT_H

/* Beside those of ec_activation.h. */
enum ec_cell_function_kind {
    EC_CELL_AFFINE = 256,     /* alpha x + beta */
    EC_CELL_SCALED_TANH,      /* alpha tanh(beta x) */
    EC_CELL_THRESHOLDED_RELU, /* x > alpha ? x : 0 */
    EC_CELL_SOFTSIGN          /* x / (1 + |x|) */
};

typedef struct ec_cell_function {
    int kind;
    float alpha, beta;
} ec_cell_function;

enum ec_cell { EC_CELL_RNN, EC_CELL_GRU, EC_CELL_LSTM };

/* All members are constants at the call.  Tensors are dense: x[length][batch][directions][gates][hidden],
   out[...][directions][batch][hidden]: of every step if `every`, then of the last one, then the cell state of an LSTM;
   numbers per unit are [directions][hidden] or, of several gates, [directions][gates][hidden].  `padded`: hidden units as
   whole vectors.  Weights are stored as `weights_as`.
   Register tiles have `rows` sequences by `vectors`. */
typedef struct ec_recurrent {
    int cell, length, batch, hidden, padded, gates;
    int directions, direction, backwards, every;
    int rows, vectors;
    int weights_as;
    int clips;
    float clip; /* of the sums of gates, where `clips` */
    int clips_cell;
    float cell_clip; /* of the cell state of an LSTM, where `clips_cell` */
    ec_cell_function f, g, h;
    int reset_behind;  /* GRU: the reset gate multiplies the product of the state, not the state */
    int forgets_input; /* LSTM: the forget gate is 1 - the input gate */
} ec_recurrent;

/* What a step reads and writes: of `rows` sequences the products of the inputs, the weights of the state and, where
   these are stored in units, the unit of each gate's unit of the state, [gates][padded]; the sums of the gates, the
   state and, where every step is kept, a copy of it.  NULL: there is none. */
typedef struct ec_cell_state {
    const float *x, *bias, *peepholes, *units;
    const void *weights;
    float *sums, *reset, *h, *c, *y;
} ec_cell_state;

EC_INLINE ec_vec ec_cell_function_of(const ec_cell_function function, ec_vec x)
{
    switch (function.kind) {
    case EC_CELL_AFFINE: return ec_fma(x, ec_set1(function.alpha), ec_set1(function.beta));
#ifdef EC_TANH_H
    case EC_CELL_SCALED_TANH: return ec_mul(ec_set1(function.alpha), ec_tanh(ec_mul(x, ec_set1(function.beta))));
#endif
    case EC_CELL_THRESHOLDED_RELU: return ec_select_lt(ec_set1(function.alpha), x, x, ec_set1(0.0f));
    case EC_CELL_SOFTSIGN: return ec_div(x, ec_add(ec_abs(x), ec_set1(1.0f)));
    default: return ec_activate(function.kind, function.alpha, function.beta, 0.0f, x);
    }
}

/* The function of a gate, whose sum is clipped; `clip` is not for the state of an LSTM, nor is it in ONNX Runtime. */
EC_INLINE ec_vec ec_gate_function_of(const ec_recurrent *spec, const ec_cell_function function, ec_vec x)
{
    return ec_cell_function_of(function, spec->clips ? ec_clip(x, -spec->clip, spec->clip) : x);
}

/* The bytes of the recurrent weights of `count` gates, the product of which is made at once: panels of `vectors` vectors
   of outputs, a row for each unit of the state. */
EC_INLINE ptrdiff_t ec_recurrent_bytes(const ec_recurrent *spec, int count)
{
    const int vectors = count * spec->padded / EC_VL, rest = vectors % spec->vectors;
    const ptrdiff_t row = (ptrdiff_t)(vectors / spec->vectors) * EC_STORED_SPAN(spec->weights_as, spec->vectors * EC_VL);
    return spec->hidden * (row + EC_STORED_SPAN(spec->weights_as, rest * EC_VL));
}

/* Weights [gates][hidden][hidden], which are known at run time, as ec_recurrent_product reads them; `first` and `count`:
   the gates of one product. */
EC_INLINE void ec_recurrent_pack(const ec_recurrent *spec, const float *weights, float *panels, int first, int count)
{
    const int columns = count * spec->padded, width = spec->vectors * EC_VL;
    float *to = panels + (ptrdiff_t)first * spec->hidden * spec->padded;
    for (int column = 0; column < columns; column += width)
        for (int k = 0; k < spec->hidden; k++)
            for (int j = column; j < ec_min_i(column + width, columns); j++) {
                const int gate = first + j / spec->padded, i = j % spec->padded;
                const ptrdiff_t row = (ptrdiff_t)gate * spec->hidden + i;
                *to++ = i < spec->hidden ? weights[row * spec->hidden + k] : 0.0f;
            }
}

/* A panel of nv vectors of mr rows of sums = a times the weights, in their units where they have some. */
EC_INLINE void ec_recurrent_panel(const ec_recurrent *spec, const float *a, int a_row, const void *panel,
                                  const float *units, float *sums, int mr, int nv)
{
    ec_tile tile;
    ec_vec found[EC_TILE_VECS];
    ec_tile_init(&tile, NULL, mr, nv);
    ec_tile_mac(&tile, a, EC_F32, a_row, 1, panel, spec->weights_as, spec->hidden, mr, nv, 0, mr);
    ec_tile_read(&tile, found, mr, nv);
    EC_UNROLL
    for (int p = 0; p < mr; p++) {
        EC_UNROLL
        for (int j = 0; j < nv; j++) {
            const ec_vec sum = found[p * nv + j];
            ec_store(sums + (ptrdiff_t)p * spec->gates * spec->padded + j * EC_VL,
                     units ? ec_mul(sum, ec_load(units + j * EC_VL)) : sum);
        }
    }
}

/* The sums of `count` gates from `first` on, whose weights begin `at_bytes` behind the first: mr rows of a, which are
   a_row floats apart, times the weights. */
EC_INLINE void ec_recurrent_product(const ec_recurrent *spec, const ec_cell_state at, const float *a, int a_row,
                                    ptrdiff_t at_bytes, int first, int count, int mr)
{
    const int vectors = count * spec->padded / EC_VL, rest = vectors % spec->vectors;
    const int width = spec->vectors * EC_VL;
    const char *panel = (const char *)at.weights + at_bytes;
    const float *units = at.units ? at.units + first * spec->padded : NULL;
    float *to = at.sums + first * spec->padded;
    for (int j = spec->vectors; j <= vectors; j += spec->vectors) {
        ec_recurrent_panel(spec, a, a_row, panel, units, to, mr, spec->vectors);
        panel += spec->hidden * EC_STORED_SPAN(spec->weights_as, (ptrdiff_t)width);
        units = units ? units + width : NULL;
        to += width;
    }
    if (rest)
        ec_recurrent_panel(spec, a, a_row, panel, units, to, mr, rest);
}

/* What the function of a gate takes, in n units of row p: the products of inputs and of state. */
EC_INLINE ec_vec ec_gate_of_state(const ec_recurrent *spec, const ec_cell_state at, int p, int gate, int i)
{
    return ec_load(at.sums + ((ptrdiff_t)p * spec->gates + gate) * spec->padded + i);
}
EC_INLINE ec_vec ec_gate_of_input(const ec_recurrent *spec, const ec_cell_state at, int p, int gate, int i, int n)
{
    return ec_read(at.x + ((ptrdiff_t)p * spec->directions * spec->gates + gate) * spec->hidden + i, n);
}
EC_INLINE ec_vec ec_gate_sum(const ec_recurrent *spec, const ec_cell_state at, int p, int gate, int i, int n)
{
    return ec_add(ec_gate_of_input(spec, at, p, gate, i, n), ec_gate_of_state(spec, at, p, gate, i));
}

/* The new state of n units of row p. */
EC_INLINE void ec_cell_keep(const ec_recurrent *spec, const ec_cell_state at, int p, int i, int n, ec_vec state)
{
    ec_write(at.h + (ptrdiff_t)p * spec->hidden + i, state, n);
    if (spec->every)
        ec_write(at.y + (ptrdiff_t)p * spec->hidden + i, state, n);
}

#endif
