/* Long short-term memory (Hochreiter and Schmidhuber, 1997) with a forget gate and peepholes (Gers and Schmidhuber,
   "Recurrent Nets that Time and Count", 2000), gates as ONNX orders them:

     i = f(x_i + R_i h + p_i c), f = f(x_f + R_f h + p_f c), c = f c + i g(x_c + R_c h),
     o = f(x_o + R_o h + p_o c), h = o h(c)

   Needs ec_recurrent.h before it. */
#ifndef EC_LSTM_H
#define EC_LSTM_H

enum { EC_LSTM_INPUT, EC_LSTM_OUTPUT, EC_LSTM_FORGET, EC_LSTM_CELL };

/* Adds the cell state by the weights of a gate's peephole, which come in the gates' order. */
EC_INLINE ec_vec ec_lstm_peep(const ec_recurrent *spec, const ec_cell_state at, int gate, int i, int n, ec_vec c,
                              ec_vec sum)
{
    return at.peepholes ? ec_fma(ec_read(at.peepholes + gate * spec->hidden + i, n), c, sum) : sum;
}

EC_INLINE void ec_lstm_once(const ec_recurrent *spec, const ec_cell_state at, int mr)
{
    ec_recurrent_product(spec, at, at.h, spec->hidden, 0, 0, 4, mr);
    for (int p = 0; p < mr; p++)
        for (int i = 0; i < spec->hidden; i += EC_VL) {
            const int n = ec_min_i(EC_VL, spec->hidden - i);
            float *const cell = at.c + (ptrdiff_t)p * spec->hidden + i;
            const ec_vec before = ec_read(cell, n);
            ec_vec input = ec_gate_sum(spec, at, p, EC_LSTM_INPUT, i, n);
            input = ec_gate_function_of(spec, spec->f, ec_lstm_peep(spec, at, EC_LSTM_INPUT, i, n, before, input));
            ec_vec forget = ec_sub(ec_set1(1.0f), input);
            if (!spec->forgets_input) {
                forget = ec_gate_sum(spec, at, p, EC_LSTM_FORGET, i, n);
                forget = ec_gate_function_of(spec, spec->f, ec_lstm_peep(spec, at, EC_LSTM_FORGET, i, n, before, forget));
            }
            const ec_vec g = ec_gate_function_of(spec, spec->g, ec_gate_sum(spec, at, p, EC_LSTM_CELL, i, n));
            ec_vec c = ec_fma(forget, before, ec_mul(input, g));
            if (spec->clips_cell)
                c = ec_clip(c, -spec->cell_clip, spec->cell_clip);
            ec_vec output = ec_gate_sum(spec, at, p, EC_LSTM_OUTPUT, i, n);
            output = ec_gate_function_of(spec, spec->f, ec_lstm_peep(spec, at, EC_LSTM_OUTPUT, i, n, c, output));
            ec_write(cell, c, n);
            ec_cell_keep(spec, at, p, i, n, ec_mul(output, ec_cell_function_of(spec->h, c)));
        }
}

#endif
