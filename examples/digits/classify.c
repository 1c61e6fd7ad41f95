/* Reads hand-written digits with the network that edgeconv emitted.

       classify TESTSET.bin

   Draws the first digits and the first misread ones, and prints the accuracy over the whole set.
   Exit status: 0 done, 2 it could not. */
#include "digits.h"
#include <stdio.h>

enum {
    SIDE = 8,                  /* pixels */
    WHITE = 16,                /* the largest pixel; the network takes 0..1 */
    CLASSES = 10,
    RECORD = 1 + SIDE * SIDE,  /* bytes in the file: label, then the rows from the top */
    SHOWN = 4                  /* digits side by side */
};
_Static_assert(DIGITS_INPUT_IMAGE_ELEMENTS == SIDE * SIDE, "the network takes one image");
_Static_assert((int)DIGITS_OUTPUT_LOGITS_ELEMENTS == CLASSES, "the network knows ten digits");

/* All the memory that the network needs; on a small board this array is its share of the RAM. */
static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];

struct digit {
    unsigned char label;
    unsigned char pixels[SIDE * SIDE];
    int predicted;
};

/* Returns the class with the largest logit: softmax would not change which one that is. */
static int classify(const digits_model *model, const unsigned char *pixels)
{
    float image[SIDE * SIDE], logits[CLASSES];
    for (int i = 0; i < SIDE * SIDE; i++)
        image[i] = (float)pixels[i] / (float)WHITE;
    digits_run(model, image, logits); /* fails for null pointers only */
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Draws digits side by side, two characters to the pixel because characters are tall. */
static void draw(const struct digit *digits, int count)
{
    static const char shades[] = " .:-=+*#%@";
    if (count == 0)
        return;
    for (int i = 0; i < count; i++)
        printf("  %d, read as %d    ", digits[i].label, digits[i].predicted);
    putchar('\n');
    for (int y = 0; y < SIDE; y++) {
        for (int i = 0; i < count; i++) {
            printf("  ");
            for (int x = 0; x < SIDE; x++) {
                const char c = shades[digits[i].pixels[SIDE * y + x] * 9 / WHITE];
                printf("%c%c", c, c);
            }
        }
        putchar('\n');
    }
    putchar('\n');
}

/* Reads one record.  Returns 1, 0 at the end of the file, -1 for a damaged or incomplete record. */
static int read_digit(FILE *file, struct digit *digit)
{
    unsigned char record[RECORD];
    const size_t bytes = fread(record, 1, RECORD, file);
    if (bytes == 0 && !ferror(file))
        return 0;
    if (bytes != RECORD || record[0] >= CLASSES)
        return -1;
    digit->label = record[0];
    for (int i = 0; i < SIDE * SIDE; i++) {
        if (record[1 + i] > WHITE)
            return -1;
        digit->pixels[i] = record[1 + i];
    }
    return 1;
}

/* Classifies the whole file.  Returns 0, or 2 when it holds no digits or is damaged. */
static int classify_file(const digits_model *model, FILE *file, const char *path)
{
    struct digit digit, first[SHOWN], misread[SHOWN];
    int total = 0, wrong = 0, status;
    while ((status = read_digit(file, &digit)) == 1) {
        digit.predicted = classify(model, digit.pixels);
        if (total < SHOWN)
            first[total] = digit;
        total++;
        if (digit.predicted != digit.label) {
            if (wrong < SHOWN)
                misread[wrong] = digit;
            wrong++;
        }
    }
    if (status < 0 || total == 0) {
        fprintf(stderr, "%s: %s after %d digits\n", path,
            status < 0 ? "damaged or incomplete record" : "file ends", total);
        return 2;
    }
    printf("The first digits, and some that it misread:\n\n");
    draw(first, total < SHOWN ? total : SHOWN);
    draw(misread, wrong < SHOWN ? wrong : SHOWN);
    printf("accuracy: %.1f %% (%d of %d digits)\n", 100.0 * (total - wrong) / total, total - wrong,
        total);
    printf("network: arena %d bytes, weights %d bytes\n", (int)DIGITS_ARENA_BYTES,
        (int)DIGITS_WEIGHTS_BYTES);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s TESTSET.bin\n", argv[0]);
        return 2;
    }
    digits_model model;
    const int result =
        digits_init(&model, digits_weights, DIGITS_WEIGHTS_BYTES, arena, sizeof arena);
    if (result != DIGITS_OK) {
        fprintf(stderr, "network: %s\n", digits_strerror(result));
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", argv[1]);
        return 2;
    }
    const int failed = classify_file(&model, file, argv[1]);
    fclose(file);
    return failed;
}
