/* A picture in memory, and reading one from a PPM file. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stddef.h>

/* Larger pictures are refused: the limit keeps a damaged header from asking for gigabytes, and a
   row of pixels within one block of the PNG writer. */
enum { IMAGE_MAX_SIDE = 16384 };

/* Rows from the top, three bytes a pixel: red, green, blue. */
struct image {
    int width, height;
    unsigned char *rgb;
};

static inline unsigned char *image_pixel(const struct image *image, int x, int y)
{
    return image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
}

/* Reads a binary PPM ("P6", 8 bits a sample).  Returns NULL, or what is wrong with the file; the
   picture is then empty.  Release it with image_free. */
const char *image_read_ppm(struct image *image, const char *path);

void image_free(struct image *image);

#endif
