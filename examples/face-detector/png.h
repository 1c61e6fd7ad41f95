/* Writing a picture as PNG without a library. */
#ifndef PNG_H
#define PNG_H

#include "image.h"

/* Returns NULL, or what went wrong; nothing is left at `path` then. */
const char *png_write(const struct image *image, const char *path);

#endif
