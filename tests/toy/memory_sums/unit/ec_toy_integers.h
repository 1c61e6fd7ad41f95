/* Vectors of integers, which are nothing to compute with in the unit's mode. */
#ifndef EC_TOY_INTEGERS_H
#define EC_TOY_INTEGERS_H

#include "ec_toy_unit.h"

#define ec_iload(...) (EC_TOY_OUTSIDE, (ec_iload)(__VA_ARGS__))
#define ec_istore(...) (EC_TOY_OUTSIDE, (ec_istore)(__VA_ARGS__))
#define ec_iset1(...) (EC_TOY_OUTSIDE, (ec_iset1)(__VA_ARGS__))

#endif
