/* One direction of a recurrent layer over all steps.  Needs the header of its cell before it. */
#ifndef EC_RECURRENT_RUN_H
#define EC_RECURRENT_RUN_H

EC_INLINE void ec_cell_once(const ec_recurrent *spec, const ec_cell_state at, int mr)
{
    switch (spec->cell) {
#ifdef EC_RNN_H
    case EC_CELL_RNN: ec_rnn_once(spec, at, mr); break;
#endif
#ifdef EC_GRU_H
    case EC_CELL_GRU: ec_gru_once(spec, at, mr); break;
#endif
#ifdef EC_LSTM_H
    case EC_CELL_LSTM: ec_lstm_once(spec, at, mr); break;
#endif
    default: break;
    }
}

/* mr sequences from number `first` on; `lengths`: how many steps each has, NULL where all have `length`, else mr is 1.
   A sequence that goes backwards begins with its last step; of steps behind its end the output is zero, and so are the
   last states of one without steps, whatever it began with: ONNX leaves that open, ONNX Runtime has it so. */
EC_INLINE void ec_recurrent_rows(const ec_recurrent *spec, ec_cell_state at, const int32_t *lengths, int first, int mr)
{
    const ptrdiff_t x_stride = (ptrdiff_t)spec->directions * spec->gates * spec->hidden;
    const ptrdiff_t y_stride = (ptrdiff_t)spec->directions * spec->batch * spec->hidden;
    const float *const x = at.x;
    float *const y = at.y;
    const int length = lengths ? ec_max_i(ec_min_i(lengths[first], spec->length), 0) : spec->length;
    EC_NO_UNROLL
    for (int i = 0; i < length; i++) {
        const int t = spec->backwards ? length - 1 - i : i;
        at.x = x + ((ptrdiff_t)t * spec->batch + first) * x_stride;
        at.y = y + t * y_stride;
        ec_cell_once(spec, at, mr);
    }
    if (lengths && length == 0) {
        memset(at.h, 0, (size_t)spec->hidden * sizeof *at.h);
        if (spec->cell == EC_CELL_LSTM)
            memset(at.c, 0, (size_t)spec->hidden * sizeof *at.c);
    }
    for (int t = length; lengths && spec->every && t < spec->length; t++)
        memset(y + t * y_stride, 0, (size_t)spec->hidden * sizeof *y);
}

/* The first state of n numbers, zero without one. */
EC_INLINE void ec_recurrent_begin(float *state, const float *given, size_t n)
{
    if (given)
        memcpy(state, given, n * sizeof *state);
    else
        memset(state, 0, n * sizeof *state);
}

/* All pointers are to the whole tensors.  `weights` are packed; where they are not, `packs`, the workspace takes them
   behind the sums of gates and what a GRU resets.  `units`: [directions][gates][padded], NULL of weights without. */
EC_INLINE void ec_recurrent_run(const ec_recurrent *spec, const float *x, const void *weights, int packs,
                                const float *units, const float *bias, const float *peepholes, const int32_t *lengths,
                                const float *h0, const float *c0, float *out, float *workspace)
{
    const int hidden = spec->hidden, states = spec->batch * hidden;
    const int split = spec->cell == EC_CELL_GRU && !spec->reset_behind ? 2 : spec->gates;
    const ptrdiff_t state = (ptrdiff_t)spec->direction * states, all = (ptrdiff_t)spec->directions * states;
    float *const h = out + (spec->every ? spec->length : 0) * all + state;
    float *const reset = workspace + spec->rows * spec->gates * spec->padded;
    float *const panels = reset + (split < spec->gates ? spec->rows * spec->padded : 0);
    const ptrdiff_t bytes = ec_recurrent_bytes(spec, split) + ec_recurrent_bytes(spec, spec->gates - split);
    const void *packed = (const char *)weights + spec->direction * bytes;
    if (packs) {
        const float *given = (const float *)weights + (ptrdiff_t)spec->direction * spec->gates * hidden * hidden;
        ec_recurrent_pack(spec, given, panels, 0, split);
        ec_recurrent_pack(spec, given, panels, split, spec->gates - split);
        packed = panels;
    }
    ec_recurrent_begin(h, h0 ? h0 + state : NULL, (size_t)states);
    if (spec->cell == EC_CELL_LSTM)
        ec_recurrent_begin(h + all, c0 ? c0 + state : NULL, (size_t)states);
    for (int first = 0; first < spec->batch; first += spec->rows) {
        const int rest = spec->batch % spec->rows;
        const ec_cell_state at = {
            .x = x + (ptrdiff_t)spec->direction * spec->gates * hidden,
            .bias = bias ? bias + (ptrdiff_t)spec->direction * hidden : NULL,
            .peepholes = peepholes ? peepholes + (ptrdiff_t)spec->direction * 3 * hidden : NULL,
            .units = units ? units + (ptrdiff_t)spec->direction * spec->gates * spec->padded : NULL,
            .weights = packed,
            .sums = workspace,
            .reset = reset,
            .h = h + (ptrdiff_t)first * hidden,
            .c = h + all + (ptrdiff_t)first * hidden,
            .y = out + state + (ptrdiff_t)first * hidden,
        };
        if (first + spec->rows <= spec->batch)
            ec_recurrent_rows(spec, at, lengths, first, spec->rows);
        else if (rest)
            ec_recurrent_rows(spec, at, lengths, first, rest);
    }
}

#endif
