/* Loads and stores of stored numbers on SVE with vectors of 128 bits. */
#include "ec_stored_sve.h"
