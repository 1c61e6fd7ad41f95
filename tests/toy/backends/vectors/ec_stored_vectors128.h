/* Loads and stores of stored numbers on vectors of 128 bits. */
#include "ec_stored_vectors.h"
