/* Loads and stores of stored numbers on vectors of 256 bits. */
#include "ec_stored_vectors.h"
