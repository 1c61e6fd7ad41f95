/* Loads and stores of stored numbers on SVE with vectors of 256 bits. */
#include "ec_stored_sve.h"
