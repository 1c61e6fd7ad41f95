/* Finds the faces in a photograph with the network that edgeconv emitted, and frames them.

       detect [--runs N] [--threshold SCORE] [--overlap IOU] PHOTO.ppm PICTURE.png

   Prints the boxes in pixels of the photograph.  Exit status: 0 done, 2 it could not. */
#define _POSIX_C_SOURCE 200809L
#include "faces.h"
#include "png.h"
#include "ultraface.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(ULTRAFACE_INPUT_INPUT_ELEMENTS == 3 * FACES_INPUT_WIDTH * FACES_INPUT_HEIGHT,
    "the network takes what faces_input writes");
_Static_assert(ULTRAFACE_OUTPUT_SCORES_ELEMENTS == 2 * FACES_ANCHORS, "two scores an anchor");
_Static_assert(ULTRAFACE_OUTPUT_BOXES_ELEMENTS == 4 * FACES_ANCHORS, "four corners an anchor");

enum { MAX_RUNS = 1000 };

/* All that the detector needs besides the photograph; nothing of it is allocated. */
static _Alignas(ULTRAFACE_ARENA_ALIGN) unsigned char arena[ULTRAFACE_ARENA_BYTES];
static float input[ULTRAFACE_INPUT_INPUT_ELEMENTS];
static float scores[ULTRAFACE_OUTPUT_SCORES_ELEMENTS];
static float boxes[ULTRAFACE_OUTPUT_BOXES_ELEMENTS];
static struct face faces[FACES_ANCHORS];

struct options {
    const char *photo, *picture;
    float runs, threshold, overlap;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Runs the network on `input` as often as asked.  Returns the median time in milliseconds. */
static double run(const ultraface_model *model, int runs)
{
    static double times[MAX_RUNS];
    for (int i = 0; i < runs; i++) {
        const double start = now_ms();
        ultraface_run(model, input, scores, boxes); /* fails for null pointers only */
        times[i] = now_ms() - start;
    }
    qsort(times, (size_t)runs, sizeof *times, by_size);
    return times[runs / 2];
}

/* Reads a whole text as a number from first to last; returns 0 if it is none. */
static int parse_number(const char *text, float first, float last, float *number)
{
    char *end;
    *number = strtof(text, &end);
    return end != text && !*end && *number >= first && *number <= last;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    /* Above one half the network thinks a face likelier than none. */
    *options = (struct options){.runs = 1.0f, .threshold = 0.5f, .overlap = 0.5f};
    const struct {
        const char *name;
        float first, last;
        float *value;
    } known[] = {
        {"--runs", 1.0f, MAX_RUNS, &options->runs},
        {"--threshold", 0.0f, 1.0f, &options->threshold},
        {"--overlap", 0.0f, 1.0f, &options->overlap},
    };
    enum { KNOWN = sizeof known / sizeof *known };

    int i = 1;
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        int k = 0;
        while (k < KNOWN && strcmp(argv[i], known[k].name))
            k++;
        if (k == KNOWN || !parse_number(argv[i + 1], known[k].first, known[k].last, known[k].value))
            return 0;
    }
    if (argc - i != 2)
        return 0;
    options->photo = argv[i];
    options->picture = argv[i + 1];
    return 1;
}

static void print_faces(const char *photo, const struct image *image, int found)
{
    printf("%s: %d x %d pixels, %d face%s\n", photo, image->width, image->height, found,
        found == 1 ? "" : "s");
    if (found)
        printf("  score    left     top   right  bottom\n");
    for (int i = 0; i < found; i++)
        printf("  %5.3f %7.1f %7.1f %7.1f %7.1f\n", (double)faces[i].score, (double)faces[i].left,
            (double)faces[i].top, (double)faces[i].right, (double)faces[i].bottom);
}

int main(int argc, char **argv)
{
    struct options options;
    if (!parse_options(argc, argv, &options)) {
        fprintf(stderr, "usage: %s [--runs 1..%d] [--threshold 0..1] [--overlap 0..1]"
                        " PHOTO.ppm PICTURE.png\n", argv[0], MAX_RUNS);
        return 2;
    }
    ultraface_model model;
    const int result = ultraface_init(
        &model, ultraface_weights, ULTRAFACE_WEIGHTS_BYTES, arena, sizeof arena);
    if (result != ULTRAFACE_OK) {
        fprintf(stderr, "network: %s\n", ultraface_strerror(result));
        return 2;
    }
    struct image image;
    const char *error = image_read_ppm(&image, options.photo);
    if (error) {
        fprintf(stderr, "%s: %s\n", options.photo, error);
        return 2;
    }

    faces_input(&image, input);
    const int runs = (int)options.runs;
    const double ms = run(&model, runs);
    const int found = faces_find(
        scores, boxes, image.width, image.height, options.threshold, options.overlap, faces);

    print_faces(options.photo, &image, found);
    printf("network: %.2f ms an inference (median of %d), arena %d bytes, weights %d bytes\n", ms,
        runs, (int)ULTRAFACE_ARENA_BYTES, (int)ULTRAFACE_WEIGHTS_BYTES);
    for (int i = 0; i < found; i++)
        faces_draw(&image, &faces[i]);
    error = png_write(&image, options.picture);
    image_free(&image);
    if (error) {
        fprintf(stderr, "%s: %s\n", options.picture, error);
        return 2;
    }
    printf("picture: %s\n", options.picture);
    return 0;
}
