/* The order of elements along one axis, and sums along it.  Needs ec_elements.h and ec_elementwise.h. */
#ifndef EC_ORDER_H
#define EC_ORDER_H

/* in[outer][n][inner], elements as spec->a_as; what spec->function says of two of them decides. */
typedef struct ec_axis {
    int outer, n, inner;
    ec_elementwise of;
} ec_axis;

/* Element i before element j. */
EC_INLINE int ec_before(const ec_elementwise *of, const void *in, ptrdiff_t i, ptrdiff_t j)
{
    uint8_t before;
    ec_elementwise_one(of, in, i, in, j, in, j, &before, 0);
    return before;
}

/* Which element comes before all others: out[outer][inner]. */
EC_INLINE void ec_first_of(const ec_axis *spec, const void *in, int64_t *out)
{
    for (int o = 0; o < spec->outer; o++)
        for (int c = 0; c < spec->inner; c++) {
            const ptrdiff_t start = (ptrdiff_t)o * spec->n * spec->inner + c;
            int best = 0;
            for (int i = 1; i < spec->n; i++)
                if (ec_before(&spec->of, in, start + (ptrdiff_t)i * spec->inner,
                              start + (ptrdiff_t)best * spec->inner))
                    best = i;
            out[(ptrdiff_t)o * spec->inner + c] = best;
        }
}

/* Whether element i comes before element j, of equal ones that with the smaller index; elements are `apart` from one
   another from `in` on. */
EC_INLINE int ec_precedes(const ec_elementwise *of, const void *in, ptrdiff_t start, ptrdiff_t apart,
                          int64_t i, int64_t j)
{
    const ptrdiff_t a = start + (ptrdiff_t)i * apart, b = start + (ptrdiff_t)j * apart;
    return ec_before(of, in, a, b) || (i < j && !ec_before(of, in, b, a));
}

/* Puts element `i` at the root of a heap, of which the root is behind all others, and from there to its place. */
EC_INLINE void ec_sink(const ec_axis *spec, const void *in, ptrdiff_t start, int64_t *heap, int count, int64_t i)
{
    const ptrdiff_t apart = spec->inner;
    int at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
        const int other = child + 1;
        if (other < count && ec_precedes(&spec->of, in, start, apart, heap[child * apart], heap[other * apart]))
            child = other;
        if (!ec_precedes(&spec->of, in, start, apart, i, heap[child * apart]))
            break;
        heap[at * apart] = heap[child * apart];
        at = child;
    }
    heap[at * apart] = i;
}

/* Puts element `i` behind the last of `count` in such a heap, and from there to its place. */
EC_INLINE void ec_rise(const ec_axis *spec, const void *in, ptrdiff_t start, int64_t *heap, int count, int64_t i)
{
    const ptrdiff_t apart = spec->inner;
    int at = count;
    while (at > 0) {
        const int parent = (at - 1) / 2;
        if (!ec_precedes(&spec->of, in, start, apart, heap[parent * apart], i))
            break;
        heap[at * apart] = heap[parent * apart];
        at = parent;
    }
    heap[at * apart] = i;
}

/* The first `count`, in order; of equal ones that with the smaller index: out[outer][count][inner].  They are a heap
   while the others are met, then sorted where they are. */
EC_INLINE void ec_first_few(const ec_axis *spec, const void *in, int64_t *out, int count)
{
    for (int o = 0; o < spec->outer; o++)
        for (int c = 0; c < spec->inner; c++) {
            const ptrdiff_t start = (ptrdiff_t)o * spec->n * spec->inner + c, apart = spec->inner;
            int64_t *const found = out + (ptrdiff_t)o * count * apart + c;
            for (int i = 0; i < count; i++)
                ec_rise(spec, in, start, found, i, i);
            for (int i = count; i < spec->n; i++) /* of equal elements none is ahead of one before it */
                if (ec_before(&spec->of, in, start + i * apart, start + (ptrdiff_t)found[0] * apart))
                    ec_sink(spec, in, start, found, count, i);
            for (int left = count - 1; left > 0; left--) {
                const int64_t last = found[left * apart];
                found[left * apart] = found[0];
                ec_sink(spec, in, start, found, left, last);
            }
        }
}

/* All of them as one: out[outer][inner]. */
EC_INLINE void ec_fold(const ec_axis *spec, const void *in, void *out)
{
    ec_elementwise copy = spec->of;
    copy.function = EC_OF_COPY;
    for (int o = 0; o < spec->outer; o++)
        for (int c = 0; c < spec->inner; c++) {
            const ptrdiff_t start = (ptrdiff_t)o * spec->n * spec->inner + c;
            const ptrdiff_t to = (ptrdiff_t)o * spec->inner + c;
            ec_elementwise_one(&copy, in, start, in, start, in, start, out, to);
            for (int i = 1; i < spec->n; i++) {
                const ptrdiff_t at = start + (ptrdiff_t)i * spec->inner;
                ec_elementwise_one(&spec->of, out, to, in, at, in, at, out, to);
            }
        }
}

/* out[i] = out[i - 1] and in[i] (in[i - 1] where that is exclusive, whose first one is `start`), from the last
   to the first if reversed. */
EC_INLINE void ec_accumulate(const ec_axis *spec, const void *in, const void *start, void *out,
                             int exclusive, int reverse)
{
    const ec_elementwise first = {.numbers = spec->of.numbers, .function = EC_OF_COPY,
                                  .a_as = spec->of.a_as, .b_as = spec->of.a_as, .c_as = spec->of.a_as,
                                  .out_as = spec->of.a_as};
    for (int o = 0; o < spec->outer; o++)
        for (int c = 0; c < spec->inner; c++) {
            const ptrdiff_t apart = reverse ? -spec->inner : spec->inner;
            ptrdiff_t at = ((ptrdiff_t)o * spec->n + (reverse ? spec->n - 1 : 0)) * spec->inner + c;
            if (exclusive)
                ec_elementwise_one(&first, start, 0, start, 0, start, 0, out, at);
            else
                ec_elementwise_one(&first, in, at, in, at, in, at, out, at);
            for (int i = 1; i < spec->n; i++) {
                const ptrdiff_t last = at, next = at += apart;
                ec_elementwise_one(&spec->of, out, last, in, exclusive ? last : next, in, next, out, next);
            }
        }
}

#endif
