/* The gated recurrent unit (Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014), with gates
   z, r and candidate as ONNX orders them:

     z = f(x_z + R_z h), r = f(x_r + R_r h), h' = g(x_h + R_h (r h)), or g(x_h + r (R_h h + b)) with reset_behind,
     h = (1 - z) h' + z h

   Needs ec_recurrent.h before it. */
#ifndef EC_GRU_H
#define EC_GRU_H

enum { EC_GRU_UPDATE, EC_GRU_RESET, EC_GRU_NEW };

/* (1 - z) candidate + z h */
EC_INLINE void ec_gru_mix(const ec_recurrent *spec, const ec_cell_state at, int p, int i, int n, ec_vec z,
                          ec_vec sum)
{
    const ec_vec made = ec_gate_function_of(spec, spec->g, sum);
    const ec_vec h = ec_read(at.h + (ptrdiff_t)p * spec->hidden + i, n);
    ec_cell_keep(spec, at, p, i, n, ec_fma(z, ec_sub(h, made), made));
}

/* One product for all gates. */
EC_INLINE void ec_gru_once_behind(const ec_recurrent *spec, const ec_cell_state at, int mr)
{
    ec_recurrent_product(spec, at, at.h, spec->hidden, 0, 0, 3, mr);
    for (int p = 0; p < mr; p++)
        for (int i = 0; i < spec->hidden; i += EC_VL) {
            const int n = ec_min_i(EC_VL, spec->hidden - i);
            const ec_vec z = ec_gate_function_of(spec, spec->f, ec_gate_sum(spec, at, p, EC_GRU_UPDATE, i, n));
            const ec_vec r = ec_gate_function_of(spec, spec->f, ec_gate_sum(spec, at, p, EC_GRU_RESET, i, n));
            ec_vec state = ec_gate_of_state(spec, at, p, EC_GRU_NEW, i);
            if (at.bias)
                state = ec_add(state, ec_read(at.bias + i, n));
            ec_gru_mix(spec, at, p, i, n, z, ec_fma(r, state, ec_gate_of_input(spec, at, p, EC_GRU_NEW, i, n)));
        }
}

/* One product for the gates, another for the candidate. */
EC_INLINE void ec_gru_once(const ec_recurrent *spec, const ec_cell_state at, int mr)
{
    if (spec->reset_behind) {
        ec_gru_once_behind(spec, at, mr);
        return;
    }
    ec_recurrent_product(spec, at, at.h, spec->hidden, 0, 0, 2, mr);
    for (int p = 0; p < mr; p++)
        for (int i = 0; i < spec->hidden; i += EC_VL) {
            const int n = ec_min_i(EC_VL, spec->hidden - i);
            const ec_vec r = ec_gate_function_of(spec, spec->f, ec_gate_sum(spec, at, p, EC_GRU_RESET, i, n));
            const ec_vec h = ec_read(at.h + (ptrdiff_t)p * spec->hidden + i, n);
            ec_store(at.reset + (ptrdiff_t)p * spec->padded + i, ec_mul(r, h));
        }
    ec_recurrent_product(spec, at, at.reset, spec->padded, ec_recurrent_bytes(spec, 2), 2, 1, mr);
    for (int p = 0; p < mr; p++)
        for (int i = 0; i < spec->hidden; i += EC_VL) {
            const int n = ec_min_i(EC_VL, spec->hidden - i);
            const ec_vec z = ec_gate_function_of(spec, spec->f, ec_gate_sum(spec, at, p, EC_GRU_UPDATE, i, n));
            ec_gru_mix(spec, at, p, i, n, z, ec_gate_sum(spec, at, p, EC_GRU_NEW, i, n));
        }
}

#endif
