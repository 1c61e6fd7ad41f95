/* PNG stores pixels in a zlib stream, and zlib may store bytes uncompressed.  So any viewer opens
   the result, and no compressor is needed: the price is a file as large as the pixels.

   Portable Network Graphics (PNG) Specification, third edition (W3C, 2025): section 5.3 chunk
   layout, 10.1 zlib stream, 11.2 critical chunks.  RFC 1950: zlib.  RFC 1951, 3.2.4: stored blocks. */
#include "png.h"
#include <stdint.h>
#include <stdio.h>

struct writer {
    FILE *file;
    uint32_t crc;  /* of the chunk so far */
    uint32_t a, b; /* Adler-32 of the uncompressed bytes so far */
};

static void put(struct writer *w, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) {
        w->crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            w->crc = (w->crc >> 1) ^ (w->crc & 1 ? 0xedb88320u : 0);
    }
    fwrite(data, 1, bytes, w->file); /* errors are sticky and looked at once, at the end */
}

static void put_u32(struct writer *w, uint32_t value)
{
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
        (unsigned char)(value >> 8), (unsigned char)value};
    put(w, bytes, sizeof bytes);
}

static void begin_chunk(struct writer *w, const char type[4], uint32_t bytes)
{
    put_u32(w, bytes);
    w->crc = 0xffffffffu; /* the CRC covers the type and the data, not the length */
    put(w, type, 4);
}

static void end_chunk(struct writer *w)
{
    put_u32(w, ~w->crc);
}

static void put_uncompressed(struct writer *w, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        w->a = (w->a + data[i]) % 65521;
        w->b = (w->b + w->a) % 65521;
    }
    put(w, data, bytes);
}

/* One row of pixels as one stored block, which holds up to 65535 bytes. */
static void put_row(struct writer *w, const unsigned char *rgb, size_t bytes, int last)
{
    static const unsigned char no_filter = 0;
    const unsigned length = (unsigned)bytes + 1; /* every row starts with the name of its filter */
    const unsigned char header[5] = {(unsigned char)last, (unsigned char)length,
        (unsigned char)(length >> 8), (unsigned char)~length, (unsigned char)(~length >> 8)};
    put(w, header, sizeof header);
    put_uncompressed(w, &no_filter, 1);
    put_uncompressed(w, rgb, bytes);
}
_Static_assert(1 + 3 * IMAGE_MAX_SIDE <= 65535, "a row fits into a stored block");

static void put_picture(struct writer *w, const struct image *image)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char rgb8[5] = {8, 2, 0, 0, 0}; /* depth, RGB, zlib, filters, no interlace */
    static const unsigned char zlib[2] = {0x78, 0x01};    /* deflate, 32 KiB window */
    const size_t row = 3 * (size_t)image->width;

    put(w, signature, sizeof signature);
    begin_chunk(w, "IHDR", 13);
    put_u32(w, (uint32_t)image->width);
    put_u32(w, (uint32_t)image->height);
    put(w, rgb8, sizeof rgb8);
    end_chunk(w);

    begin_chunk(w, "IDAT", (uint32_t)(sizeof zlib + (size_t)image->height * (5 + 1 + row) + 4));
    put(w, zlib, sizeof zlib);
    for (int y = 0; y < image->height; y++)
        put_row(w, image_pixel(image, 0, y), row, y == image->height - 1);
    put_u32(w, w->b << 16 | w->a);
    end_chunk(w);

    begin_chunk(w, "IEND", 0);
    end_chunk(w);
}

const char *png_write(const struct image *image, const char *path)
{
    struct writer w = {.file = fopen(path, "wb"), .a = 1};
    if (!w.file)
        return "cannot be created";
    put_picture(&w, image);
    const int failed = ferror(w.file);
    return fclose(w.file) || failed ? "cannot be written completely" : NULL;
}
