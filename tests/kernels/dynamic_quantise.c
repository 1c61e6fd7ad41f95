/* Integers of numbers whose range they are made of, without a division, against those of a division; and ranges by bits
   against comparisons.  Writes how many differ, how many were compared, and how many numbers were next to the middle
   between two integers. */
#include "ec_common.h"
#include "ec_isa_portable.h"
#include "ec_lanes.h"
#include "ec_activation.h"
#include "ec_dynamic_range.h"
#include "ec_quantise.h"

int printf(const char *format, ...); /* declared, since freestanding C has no headers for it */

enum { NUMBERS = 515 };

static uint32_t state = 1;
static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}
static float fraction(void) { return (float)draw() / 16777216.0f; }

/* Some units in the last place from x. */
static float near(float x, int units) { return ec_from_bits(ec_bits(x) + (uint32_t)units); }

static long different, compared, between;

static void judge(float *x, float low, float high)
{
    static int8_t found[NUMBERS];
    float range[2], plain[2];
    x[draw() % NUMBERS] = low;
    x[draw() % NUMBERS] = high;
    ec_dynamic_range(x, EC_F32, low >= 0.0f, plain, NUMBERS);
    ec_dynamic_range_bits(x, low >= 0.0f, range, NUMBERS);
    different += (range[0] != plain[0]) + (range[1] != plain[1]);
    const float scale = ec_dynamic_scale(range), zero = ec_dynamic_zero(range, scale);
    ec_dynamic_quantise_ranged(x, scale, zero, found, NUMBERS);
    for (int i = 0; i < NUMBERS; i++) {
        float whole[EC_VL];
        ec_quantise_lanes(ec_set1(x[i]), scale, zero, 0.0f, 255.0f, whole);
        different += (float)found[i] != whole[0] - 128.0f;
        const float parts = x[i] / scale * 2.0f, odd = parts - 2.0f * (float)(int)(parts * 0.5f);
        between += odd * odd > 0.99f && odd * odd < 1.01f;
    }
    compared += NUMBERS;
}

/* Of numbers some of which are zeros with a sign, infinite or NaN: as integers. */
static void judge_bits(float *x, int n)
{
    static const uint32_t special[] = {0x80000000u, 0u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u,
                                       0x00000001u, 0x80000001u, 0x7f7fffffu, 0xff7fffffu};
    const int signs = draw() % 2 == 0;
    float range[2];
    int32_t high = 0;
    uint32_t low = 0;
    for (int i = (int)(draw() % 4); i < n; i += 1 + (int)(draw() % 40))
        x[i] = ec_from_bits(special[draw() % 11]);
    for (int i = 0; i < n; i++) {
        if (!signs)
            x[i] = ec_abs(x[i]);
        high = (int32_t)ec_bits(x[i]) > high ? (int32_t)ec_bits(x[i]) : high;
        low = ec_bits(x[i]) > low ? ec_bits(x[i]) : low;
    }
    ec_dynamic_range_bits(x, !signs, range, n);
    different += ec_bits(range[1]) != (uint32_t)high;
    different += ec_bits(range[0]) != (low >> 31 ? low : 0u);
}

int main(void)
{
    static float x[NUMBERS];
    for (int i = 0; i < 4000; i++) {
        const int far = (int)(draw() % 200) - 100;
        float magnitude = 1.0f + fraction();
        for (int k = 0; k < (far < 0 ? -far : far); k++)
            magnitude *= far < 0 ? 0.5f : 2.0f;
        const float low = draw() % 3 ? -magnitude * fraction() : 0.0f, high = draw() % 5 ? magnitude * fraction() : 0.0f;
        const float range[2] = {low, high}, scale = ec_dynamic_scale(range);
        for (int k = 0; k < NUMBERS; k++) {
            const float middle = scale * ((float)(int)(fraction() * 255.0f + low / scale) + 0.5f);
            const float one = k % 2 ? low + fraction() * (high - low) : near(middle, (int)(draw() % 9) - 4);
            x[k] = one < low ? low : one > high ? high : one;
        }
        judge(x, low, high);
        for (int k = 0; k < NUMBERS; k++) /* of steps with halves at both ends: an integer of 256 */
            x[k] = (float)((int)(draw() % 256) - 1) * scale - scale * 0.5f;
        judge(x, -1.5f * scale, 253.5f * scale);
        judge_bits(x, (int)(draw() % NUMBERS));
    }
    printf("%ld %ld %ld\n", different, compared, between);
    return different != 0;
}
