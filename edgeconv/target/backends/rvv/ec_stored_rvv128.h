/* Loads and stores of stored numbers on RVV with vectors of 128 bits. */
#include "ec_stored_rvv.h"
