#include "faces.h"

/* Where an output sample falls between two input samples. */
struct between {
    int first, second;
    float weight; /* of the second */
};

/* Pixels are areas: the centre of output pixel i, at i + 0.5, maps to the input's scale, and what
   lies beyond the centre of an edge pixel takes that pixel's value. */
static struct between locate(int i, int outputs, int inputs)
{
    const float centre = ((float)i + 0.5f) * (float)inputs / (float)outputs - 0.5f;
    if (centre <= 0.0f)
        return (struct between){0, 0, 0.0f};
    const int first = (int)centre;
    if (first >= inputs - 1)
        return (struct between){inputs - 1, inputs - 1, 0.0f};
    return (struct between){first, first + 1, centre - (float)first};
}

static float mix(float a, float b, float weight)
{
    return a + (b - a) * weight;
}

void faces_input(const struct image *image, float *input)
{
    struct between columns[FACES_INPUT_WIDTH]; /* the same for every row */
    for (int x = 0; x < FACES_INPUT_WIDTH; x++)
        columns[x] = locate(x, FACES_INPUT_WIDTH, image->width);

    const int plane = FACES_INPUT_WIDTH * FACES_INPUT_HEIGHT;
    for (int y = 0; y < FACES_INPUT_HEIGHT; y++) {
        const struct between row = locate(y, FACES_INPUT_HEIGHT, image->height);
        for (int x = 0; x < FACES_INPUT_WIDTH; x++) {
            const struct between column = columns[x];
            const unsigned char *top_left = image_pixel(image, column.first, row.first);
            const unsigned char *top_right = image_pixel(image, column.second, row.first);
            const unsigned char *low_left = image_pixel(image, column.first, row.second);
            const unsigned char *low_right = image_pixel(image, column.second, row.second);
            for (int c = 0; c < 3; c++) { /* interleaved colours become planes */
                const float top = mix(top_left[c], top_right[c], column.weight);
                const float low = mix(low_left[c], low_right[c], column.weight);
                input[c * plane + y * FACES_INPUT_WIDTH + x] =
                    (mix(top, low, row.weight) - 127.0f) / 128.0f;
            }
        }
    }
}
