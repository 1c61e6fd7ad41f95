#include "faces.h"

enum { THICKNESS = 3 };

/* Fills columns left..right-1 of rows top..bottom-1, as far as they lie in the picture. */
static void fill(struct image *image, int left, int top, int right, int bottom)
{
    static const unsigned char green[3] = {0, 230, 64};
    for (int y = top < 0 ? 0 : top; y < bottom && y < image->height; y++)
        for (int x = left < 0 ? 0 : left; x < right && x < image->width; x++)
            for (int c = 0; c < 3; c++)
                image_pixel(image, x, y)[c] = green[c];
}

void faces_draw(struct image *image, const struct face *face)
{
    /* faces_find keeps the corners within the picture, so they are small and not negative. */
    const int left = (int)(face->left + 0.5f), right = (int)(face->right + 0.5f);
    const int top = (int)(face->top + 0.5f), bottom = (int)(face->bottom + 0.5f);
    fill(image, left - THICKNESS, top - THICKNESS, right + THICKNESS, top);
    fill(image, left - THICKNESS, bottom, right + THICKNESS, bottom + THICKNESS);
    fill(image, left - THICKNESS, top, left, bottom);
    fill(image, right, top, right + THICKNESS, bottom);
}
