/* Loads and stores of stored numbers beside a matrix unit: those of NEON. */
#include "ec_stored_neon.h"
