#include "image.h"
#include <stdio.h>
#include <stdlib.h>

/* The next decimal number of a PPM header, or -1.  White space and comments (from '#' to the end
   of the line) may come before it, and one character after it is consumed, as the format says. */
static int read_number(FILE *file)
{
    int c = getc(file);
    while (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '#') {
        if (c == '#')
            while (c != '\n' && c != EOF)
                c = getc(file);
        else
            c = getc(file);
    }
    if (c < '0' || c > '9')
        return -1;
    int number = 0;
    for (; c >= '0' && c <= '9'; c = getc(file)) {
        if (number > 99999) /* no field of a picture that fits is this long */
            return -1;
        number = 10 * number + (c - '0');
    }
    return number;
}

static const char *read_ppm(struct image *image, FILE *file)
{
    if (getc(file) != 'P' || getc(file) != '6')
        return "not a binary PPM file (P6)";
    const int width = read_number(file);
    const int height = read_number(file);
    const int largest = read_number(file);
    if (width < 1 || height < 1 || largest < 1)
        return "damaged PPM header";
    if (width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE)
        return "picture too large: at most 16384 x 16384 pixels";
    if (largest != 255)
        return "only 8 bits a sample (maximum 255) are read";

    const size_t bytes = 3 * (size_t)width * (size_t)height;
    image->rgb = malloc(bytes);
    if (!image->rgb)
        return "not enough memory for the picture";
    image->width = width;
    image->height = height;
    if (fread(image->rgb, 1, bytes, file) != bytes)
        return "file ends before its last pixel";
    return NULL;
}

const char *image_read_ppm(struct image *image, const char *path)
{
    *image = (struct image){0, 0, NULL};
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot be opened";
    const char *error = read_ppm(image, file);
    fclose(file);
    if (error)
        image_free(image);
    return error;
}

void image_free(struct image *image)
{
    free(image->rgb);
    *image = (struct image){0, 0, NULL};
}
