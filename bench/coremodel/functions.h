/* Functions that a trace tells apart: of the block that stands for one, and how many there are. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

enum { MOST_BLOCKS = 1 << 20, MOST_FUNCTIONS = 512 };

#endif
