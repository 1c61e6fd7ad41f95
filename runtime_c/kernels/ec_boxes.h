/* Non-maximum suppression of boxes (ONNX's NonMaxSuppression). */
#ifndef EC_BOXES_H
#define EC_BOXES_H

/* boxes[batches][count][4], scores[batches][classes][count] -> rows (batch, class, box), at most `rows` of them;
   what is left is filled with zeros.  `centred`: boxes are centre and size, not two opposite corners. */
typedef struct ec_boxes {
    int batches, classes, count, rows, centred;
} ec_boxes;

/* Corners, the smaller first. */
EC_INLINE void ec_corners(const float *box, int centred, float *corners)
{
    for (int d = 0; d < 2; d++) { /* the first of both are x of a centre, y of a corner */
        const float a = centred ? box[d] - 0.5f * box[d + 2] : box[d];
        const float b = centred ? box[d] + 0.5f * box[d + 2] : box[d + 2];
        corners[d] = a < b ? a : b;
        corners[d + 2] = a < b ? b : a;
    }
}

/* Whether what both have in common is more than `limit` of what either has. */
EC_INLINE int ec_overlaps(const float *one, const float *other, int centred, float limit)
{
    float a[4], b[4], common = 1.0f, first = 1.0f, second = 1.0f;
    ec_corners(one, centred, a);
    ec_corners(other, centred, b);
    for (int d = 0; d < 2; d++) {
        const float low = a[d] > b[d] ? a[d] : b[d], high = a[d + 2] < b[d + 2] ? a[d + 2] : b[d + 2];
        common *= high > low ? high - low : 0.0f;
        first *= a[d + 2] - a[d];
        second *= b[d + 2] - b[d];
    }
    return common > 0.0f && common / (first + second - common) > limit;
}

/* The best box of a class that is below the last one taken, in the order of scores and then of numbers; -1 where
   there is none. */
EC_INLINE int ec_next_box(const float *scores, int count, float least, int any, int last)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        const int after = last < 0 || scores[i] < scores[last] || (scores[i] == scores[last] && i > last);
        if (after && (any || scores[i] > least) && (best < 0 || scores[i] > scores[best]))
            best = i;
    }
    return best;
}

EC_INLINE int64_t ec_suppress(const ec_boxes *spec, const float *boxes, const float *scores, int64_t most,
                              float limit, const float *least, int64_t *out)
{
    int64_t found = 0;
    memset(out, 0, (size_t)spec->rows * 3 * sizeof *out);
    for (int b = 0; b < spec->batches; b++)
        for (int c = 0; c < spec->classes; c++) {
            const float *const of = scores + ((ptrdiff_t)b * spec->classes + c) * spec->count;
            const float *const all = boxes + (ptrdiff_t)b * spec->count * 4;
            const int64_t begin = found;
            int last = -1;
            while (found - begin < most && found < spec->rows) {
                last = ec_next_box(of, spec->count, least ? *least : 0.0f, !least, last);
                if (last < 0)
                    break;
                int kept = 1;
                for (int64_t i = begin; i < found && kept; i++)
                    kept = !ec_overlaps(all + (ptrdiff_t)out[3 * i + 2] * 4, all + (ptrdiff_t)last * 4,
                                        spec->centred, limit);
                if (kept) {
                    out[3 * found] = b, out[3 * found + 1] = c, out[3 * found + 2] = last;
                    found++;
                }
            }
        }
    return found;
}

#endif
