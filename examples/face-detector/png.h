/* Writing a picture as PNG without a library. */
#ifndef PNG_H
#define PNG_H

#include "image.h"

/* Returns NULL, or what went wrong. */
const char *png_write(const struct image *image, const char *path);

#endif
