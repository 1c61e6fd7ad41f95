/* The LSTM of int8 and int16 as TensorFlow Lite Micro computes it, in integers throughout:

       gate = (W x + b) + (R h)              both rounded to 16 bits, units of 2^-12
       i, f, o = sigmoid(gate), g = tanh(gate)                        units of 2^-15
       c = clip(f c + i g),  h = o tanh(c)

   Every result and every sum of two is cut off to 16 bits, or to the bits of h.  There is no workspace: c is updated where
   it is returned, and h is read where the step before has written it.
   Needs ec_int8_sums.h, ec_int16_doubled.h and ec_short_sigmoid.h. */
#ifndef EC_SHORT_LSTM_H
#define EC_SHORT_LSTM_H

/* x 2^left, times the multiplier, over 2^right: of sums of int8 and of products as ec_int16_doubled does it. */
typedef struct ec_short_factor {
    int32_t multiplier, left, right;
} ec_short_factor;

enum { EC_SHORT_INPUT, EC_SHORT_FORGET, EC_SHORT_CELL, EC_SHORT_OUTPUT, EC_SHORT_GATES };

/* bytes: of an element of x and of h, 1 or 2.  Strides count elements, from a step to the next and from a sequence.
   sixteens: numbers of each gate's weights lie side by side in sixteens, else in fours.
   argument: what makes a cell that of tanh.  clip: the largest cell, 0 for none.  zero: the zero point of h. */
typedef struct ec_short_lstm {
    int length, batch, inputs, hidden, bytes, sixteens;
    ptrdiff_t x_next, x_sequence, y_next, y_sequence;
    ec_short_factor of_x[EC_SHORT_GATES], of_h[EC_SHORT_GATES];
    ec_short_factor of_new, of_output, argument;
    int32_t clip, zero;
} ec_short_lstm;

EC_INLINE int32_t ec_short_cut(int32_t x) { return ec_min_i(ec_max_i(x, INT16_MIN), INT16_MAX); }

EC_INLINE int32_t ec_short_product(int32_t x, const ec_short_factor by)
{
    return ec_int16_doubled(x * (1 << by.left), by.multiplier, by.right);
}

/* A gate's sum in units of 2^-12.  Of int16 the multiplier has 15 bits, and is rounded once. */
EC_INLINE int32_t ec_short_gate(const ec_short_lstm *spec, int32_t sum, const ec_short_factor by)
{
    if (spec->bytes == 1)
        return ec_short_cut(ec_short_product(sum, by));
    return ec_short_cut((int32_t)(((int64_t)sum * by.multiplier + ((int64_t)1 << (by.right - 1))) >> by.right));
}

/* Bytes of a unit's weights for n numbers. */
EC_INLINE ptrdiff_t ec_short_weights(const ec_short_lstm *spec, int n)
{
    const int together = spec->sixteens ? 16 : 4;
    return (ptrdiff_t)ec_ceil_div(n, together) * together * EC_SHORT_GATES;
}

/* Sums of n numbers by the weights of a unit's gates. */
EC_INLINE void ec_short_sums(const ec_short_lstm *spec, const void *in, int n, const int8_t *weights, int32_t *sums)
{
    if (spec->bytes == 2) {
        const int16_t *const x = in;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int k = 0; k < n; k++) {
            const int8_t *const w = weights + k / 4 * 16 + k % 4;
            s0 += x[k] * w[0], s1 += x[k] * w[4], s2 += x[k] * w[8], s3 += x[k] * w[12];
        }
        sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
    } else if (spec->sixteens) {
        ec_int8_1x4_sums(in, n, weights, sums);
    } else {
        ec_int8_dot_sums(in, n, weights, sums);
    }
}

/* A unit's state of a step: its new cell replaces *c. */
EC_INLINE int32_t ec_short_state(const ec_short_lstm *spec, const int32_t *of_x, const int32_t *of_h,
                                const int32_t *starts, const uint16_t *table, int16_t *c)
{
    int32_t gate[EC_SHORT_GATES];
    for (int g = 0; g < EC_SHORT_GATES; g++) {
        const int32_t sum = ec_short_cut(ec_short_gate(spec, of_x[g] + starts[g], spec->of_x[g]) +
                                         ec_short_gate(spec, of_h[g] + starts[EC_SHORT_GATES + g], spec->of_h[g]));
        gate[g] = g == EC_SHORT_CELL ? ec_short_tanh(table, 3 * sum) : ec_short_sigmoid(table, 3 * sum);
    }
    const int32_t kept = ec_int16_doubled(gate[EC_SHORT_FORGET] * *c, 1 << 30, 14); /* over 2^15 */
    const int32_t made = ec_short_cut(ec_short_product(gate[EC_SHORT_INPUT] * gate[EC_SHORT_CELL], spec->of_new));
    int32_t cell = ec_short_cut(kept + made);
    if (spec->clip)
        cell = ec_min_i(ec_max_i(cell, -spec->clip), spec->clip);
    *c = (int16_t)cell;
    const ec_short_factor by = spec->argument;
    const int32_t bent = ec_short_tanh(table, (cell * by.multiplier + ((1 << by.right) >> 1)) >> by.right);
    const int32_t state = spec->zero + ec_short_product(bent * gate[EC_SHORT_OUTPUT], spec->of_output);
    const int32_t most = spec->bytes == 1 ? INT8_MAX : INT16_MAX;
    return ec_min_i(ec_max_i(state, -most - 1), most);
}

/* given and c: the state and cell of the run before.  weights: of every unit those for x, then those for h.  starts: of every unit what
   the sums of its gates begin with, of x and then of h.  out: c, and behind it h of every step. */
EC_INLINE void ec_short_lstm_run(const ec_short_lstm *spec, const void *x, const void *given, const int16_t *c,
                                 const int8_t *weights, const int32_t *starts, const uint16_t *table, void *out)
{
    const int bytes = spec->bytes, hidden = spec->hidden;
    const ptrdiff_t cells = (ptrdiff_t)spec->batch * hidden * (int)sizeof(int16_t);
    const ptrdiff_t for_x = ec_short_weights(spec, spec->inputs), own = for_x + ec_short_weights(spec, hidden);
    memcpy(out, c, (size_t)cells);
    for (int b = 0; b < spec->batch; b++) {
        const char *from = (const char *)x + b * spec->x_sequence * bytes;
        const char *before = (const char *)given + (ptrdiff_t)b * hidden * bytes;
        char *to = (char *)out + cells + b * spec->y_sequence * bytes;
        for (int t = 0; t < spec->length; t++) {
            for (int u = 0; u < hidden; u++) {
                int32_t of_x[EC_SHORT_GATES], of_h[EC_SHORT_GATES];
                ec_short_sums(spec, from, spec->inputs, weights + u * own, of_x);
                ec_short_sums(spec, before, hidden, weights + u * own + for_x, of_h);
                int16_t *const cell = (int16_t *)out + (ptrdiff_t)b * hidden + u;
                const int32_t state = ec_short_state(spec, of_x, of_h, starts + 2 * EC_SHORT_GATES * u, table, cell);
                if (bytes == 1)
                    ((int8_t *)to)[u] = (int8_t)state;
                else
                    ((int16_t *)to)[u] = (int16_t)state;
            }
            before = to;
            from += spec->x_next * bytes, to += spec->y_next * bytes;
        }
    }
}

#endif
