/* Non-maximum suppression of boxes (ONNX's NonMaxSuppression). */
#ifndef EC_BOXES_H
#define EC_BOXES_H

/* boxes[batches][count][4], scores[batches][classes][count] -> rows (batch, class, box), at most `rows` of them;
   what is left is filled with zeros.  `centred`: boxes are centre and size, not two opposite corners. */
typedef struct ec_boxes {
    int batches, classes, count, rows, centred;
} ec_boxes;

enum { EC_BOX_NUMBERS = 5, EC_BOXES_AT_ONCE = 16 };

/* x, y of the corner with the smaller ones, of the other one, and the area, `apart` floats from one to the next. */
EC_INLINE void ec_corners(const float *box, int centred, float *corners, ptrdiff_t apart)
{
    for (int d = 0; d < 2; d++) { /* the first of both are x of a centre, y of a corner */
        const float a = centred ? box[d] - 0.5f * box[d + 2] : box[d];
        const float b = centred ? box[d] + 0.5f * box[d + 2] : box[d + 2];
        const int turned = !centred && !(a < b); /* a box around a centre of a size below zero has nothing in it */
        corners[d * apart] = turned ? b : a;
        corners[(d + 2) * apart] = turned ? a : b;
    }
    corners[4 * apart] = (corners[2 * apart] - corners[0]) * (corners[3 * apart] - corners[apart]);
}

/* Whether what `box` has in common with any of so many `kept` is more than `limit` of what either has. */
EC_INLINE int ec_overlaps(const float *box, const float *kept, ptrdiff_t apart, int64_t count, float limit)
{
    int hit = 0;
    for (int64_t i = 0; i < count && !hit; i += EC_BOXES_AT_ONCE) {
        const int many = count - i < EC_BOXES_AT_ONCE ? (int)(count - i) : EC_BOXES_AT_ONCE;
        for (int j = 0; j < many; j++) {
            const float *const other = kept + i + j;
            const float x = other[0] > box[0] ? other[0] : box[0];
            const float y = other[apart] > box[1] ? other[apart] : box[1];
            const float right = other[2 * apart] < box[2] ? other[2 * apart] : box[2];
            const float below = other[3 * apart] < box[3] ? other[3 * apart] : box[3];
            const float common = (right > x ? right - x : 0.0f) * (below > y ? below - y : 0.0f);
            hit |= common > 0.0f && common / (box[4] + other[4 * apart] - common) > limit;
        }
    }
    return hit;
}

/* Box i before box j: the one with the higher score, of equal ones that with the smaller number. */
EC_INLINE int ec_box_before(const float *scores, int32_t i, int32_t j)
{
    return scores[i] > scores[j] || (scores[i] == scores[j] && i < j);
}

/* Lets what is at `at` of a heap down to its place. */
EC_INLINE void ec_sink_box(const float *scores, int32_t *heap, int count, int at)
{
    const int32_t box = heap[at];
    for (int child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && ec_box_before(scores, heap[child + 1], heap[child]);
        if (!ec_box_before(scores, heap[child], box))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = box;
}

/* The boxes whose score is more than `least`, if that is given, the best one first; returns how many.  NaN is no
   score.  Without `least` ONNX Runtime takes such boxes, too, and where they are among the others depends on its heap. */
EC_INLINE int ec_heap_boxes(const float *scores, int count, const float *least, int32_t *heap)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (least ? scores[i] > *least : scores[i] == scores[i])
            heap[found++] = i;
    for (int at = found / 2; at-- > 0;)
        ec_sink_box(scores, heap, found, at);
    return found;
}

/* `filled`, if given: so many boxes there are, those behind mean nothing.  workspace: count + 5 rows numbers.
   Returns how many rows were found. */
EC_INLINE int64_t ec_suppress(const ec_boxes *spec, const float *boxes, const float *scores,
                              const int64_t *filled, int64_t most, float limit, const float *least,
                              int64_t *out, float *workspace)
{
    float *const kept = workspace;
    int32_t *const heap = (int32_t *)(workspace + (ptrdiff_t)EC_BOX_NUMBERS * spec->rows);
    const int count = !filled || *filled > spec->count ? spec->count : *filled < 0 ? 0 : (int)*filled;
    int64_t found = 0;
    memset(out, 0, (size_t)spec->rows * 3 * sizeof *out);
    for (int b = 0; b < spec->batches; b++)
        for (int c = 0; c < spec->classes; c++) {
            const float *const of = scores + ((ptrdiff_t)b * spec->classes + c) * spec->count;
            const float *const all = boxes + (ptrdiff_t)b * spec->count * 4;
            const int64_t begin = found;
            int left = ec_heap_boxes(of, count, least, heap);
            while (left > 0 && found - begin < most && found < spec->rows) {
                const int32_t box = heap[0];
                float corners[EC_BOX_NUMBERS];
                heap[0] = heap[--left];
                ec_sink_box(of, heap, left, 0);
                ec_corners(all + (ptrdiff_t)box * 4, spec->centred, corners, 1);
                if (ec_overlaps(corners, kept, spec->rows, found - begin, limit))
                    continue;
                for (int d = 0; d < EC_BOX_NUMBERS; d++)
                    kept[(ptrdiff_t)d * spec->rows + (found - begin)] = corners[d];
                out[3 * found] = b, out[3 * found + 1] = c, out[3 * found + 2] = box;
                found++;
            }
        }
    return found;
}

#endif
