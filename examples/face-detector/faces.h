/* What lies around the network: a picture becomes its input, its output becomes faces. */
#ifndef FACES_H
#define FACES_H

#include "image.h"

/* The network's input is 3 planes (red, green, blue) of 240 rows of 320 values.  Its output is two
   scores (background, face) and one box for each of 4420 anchors: places and sizes at which it
   looks for a face. */
enum { FACES_INPUT_WIDTH = 320, FACES_INPUT_HEIGHT = 240, FACES_ANCHORS = 4420 };

/* One detected face.  Pixels of the picture, (0, 0) is its top left corner; the edges lie between
   pixels, so that right - left is the width. */
struct face {
    float left, top, right, bottom;
    float score; /* 0..1 */
};

/* Scales the picture to 320 x 240, bilinearly and without regard to its aspect ratio (the network
   was trained that way), and to the values it was trained with: (sample - 127) / 128. */
void faces_input(const struct image *image, float *input);

/* The faces of a picture of width x height pixels, the best first, and their number.

   scores: [FACES_ANCHORS][2].  boxes: [FACES_ANCHORS][4] corners (left, top, right, bottom) in
   fractions of the picture; the network has decoded them from its anchors already.  Anchors that
   score above `threshold` are candidates, and of candidates that overlap by more than `overlap`
   (intersection over union) only the best is kept: greedy non-maximum suppression. */
int faces_find(const float *scores, const float *boxes, int width, int height, float threshold,
    float overlap, struct face faces[FACES_ANCHORS]);

/* Frames the face in the picture, outside its box so that the face remains to be seen. */
void faces_draw(struct image *image, const struct face *face);

#endif
