/* ec_nscaled_each of an ISA that narrows, against 64 bits: every shift that forms have, words and offsets at their ends
   and between.  EC_ISA, ISA: its header and that of its integers.  Prints what differs. */
#include "ec_common.h"
#include EC_ISA
#include ISA
#include <stdio.h>

enum { MOST_RIGHT = 22, MOST_OWN = (1 << 30) - 1, ROUNDS = 200 };

static uint64_t state = 1;

static int32_t drawn(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)(uint32_t)(state >> 32) >> (state >> 16) % 32;
}

static int32_t wanted(int32_t sum, int32_t by, int32_t added, int right)
{
    const int64_t q = (((int64_t)sum * by >> 32) + added) >> right;
    return (int32_t)(q < INT16_MIN ? INT16_MIN : q > INT16_MAX ? INT16_MAX : q);
}

int main(void)
{
    static const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX};
    static const int32_t offsets[] = {-MOST_OWN, -1, 0, MOST_OWN};
    for (int right = 1; right <= MOST_RIGHT; right++)
        for (int round = 0; round < ROUNDS; round++) {
            int32_t sums[2 * EC_VL], by[2 * EC_VL], added[2 * EC_VL];
            int16_t found[2 * EC_VL];
            for (int i = 0; i < 2 * EC_VL; i++) {
                const int n = round * 2 * EC_VL + i, end = n < 48;
                sums[i] = end ? ends[n % 6] : drawn();
                by[i] = end && n / 6 % 2 ? INT32_MAX : drawn() & INT32_MAX;
                added[i] = end ? offsets[n / 12] : drawn() / 2;
            }
            const ec_nvec v = ec_nscaled_each(ec_iload(sums), ec_iload(sums + EC_VL), ec_iload(by), ec_iload(by + EC_VL),
                                              ec_iload(added), ec_iload(added + EC_VL), right);
            memcpy(found, &v, sizeof found);
            for (int i = 0; i < 2 * EC_VL; i++)
                if (found[i] != wanted(sums[i], by[i], added[i], right))
                    printf("(%d * %d + %d) >> %d: %d\n", sums[i], by[i], added[i], right, found[i]);
        }
    return 0;
}
