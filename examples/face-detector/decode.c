#include "faces.h"
#include <stdlib.h>

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float smaller(float a, float b)
{
    return a < b ? a : b;
}

static float area(const struct face *face)
{
    return larger(face->right - face->left, 0.0f) * larger(face->bottom - face->top, 0.0f);
}

/* Intersection over union: 0 for boxes that do not meet, 1 for equal ones. */
static float overlap_of(const struct face *a, const struct face *b)
{
    const struct face both = {
        .left = larger(a->left, b->left),
        .top = larger(a->top, b->top),
        .right = smaller(a->right, b->right),
        .bottom = smaller(a->bottom, b->bottom),
    };
    const float intersection = area(&both);
    const float together = area(a) + area(b) - intersection;
    return together > 0.0f ? intersection / together : 0.0f;
}

/* The best score first.  Equal scores keep some fixed order, whatever qsort does: by position. */
static int by_score(const void *left, const void *right)
{
    const struct face *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->top != b->top)
        return a->top < b->top ? -1 : 1;
    return (a->left > b->left) - (a->left < b->left);
}

static float within(float value, float limit)
{
    return smaller(larger(value, 0.0f), limit);
}

int faces_find(const float *scores, const float *boxes, int width, int height, float threshold,
    float overlap, struct face faces[FACES_ANCHORS])
{
    const float w = (float)width, h = (float)height;
    int candidates = 0;
    for (int i = 0; i < FACES_ANCHORS; i++) {
        const float score = scores[2 * i + 1], *box = boxes + 4 * i;
        if (score > threshold)
            faces[candidates++] =
                (struct face){box[0] * w, box[1] * h, box[2] * w, box[3] * h, score};
    }
    qsort(faces, (size_t)candidates, sizeof *faces, by_score);

    /* In place: faces[0..kept) are final, and never more than have been looked at. */
    int kept = 0;
    for (int i = 0; i < candidates; i++) {
        int better = 0;
        while (better < kept && overlap_of(&faces[better], &faces[i]) <= overlap)
            better++;
        if (better == kept)
            faces[kept++] = faces[i];
    }

    /* Only now: cutting earlier would change how much faces at the picture's edge overlap. */
    for (int i = 0; i < kept; i++) {
        faces[i].left = within(faces[i].left, w);
        faces[i].top = within(faces[i].top, h);
        faces[i].right = within(faces[i].right, w);
        faces[i].bottom = within(faces[i].bottom, h);
    }
    return kept;
}
