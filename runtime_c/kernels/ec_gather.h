/* Chosen entries of one axis.  Needs ec_copy.h. */
#ifndef EC_GATHER_H
#define EC_GATHER_H

/* in[outer][size][inner] -> out[outer][count][inner], entry k from index[k], 0 <= index[k] < size. */
EC_INLINE void ec_gather(const void *in, int in_as, const int32_t *index, void *out, int out_as,
                         int outer, int size, int count, int inner EC_WORKER(, int from, int to))
{
    for (int i = EC_WORKER_OR(from, 0); i < EC_WORKER_OR(ec_min_i(to, outer), outer); i++)
        for (int k = 0; k < count; k++)
            ec_copy_run(in, in_as, ((ptrdiff_t)i * size + index[k]) * inner, out, out_as,
                        ((ptrdiff_t)i * count + k) * inner, inner);
}

#endif
