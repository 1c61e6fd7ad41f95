/* The simple recurrent cell: h = f(W x + R h + b) (Elman, "Finding Structure in Time", 1990).
   Needs ec_recurrent.h before it. */
#ifndef EC_RNN_H
#define EC_RNN_H

EC_INLINE void ec_rnn_once(const ec_recurrent *spec, const ec_cell_state at, int mr)
{
    ec_recurrent_product(spec, at, at.h, spec->hidden, 0, 0, 1, mr);
    for (int p = 0; p < mr; p++)
        for (int i = 0; i < spec->hidden; i += EC_VL) {
            const int n = ec_min_i(EC_VL, spec->hidden - i);
            ec_cell_keep(spec, at, p, i, n, ec_gate_function_of(spec, spec->f, ec_gate_sum(spec, at, p, 0, i, n)));
        }
}

#endif
