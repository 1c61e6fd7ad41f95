/* Called after every layer of a network that is being calibrated: rounds the layer's result in
   place, as if it had been stored in another format and read back.  Behind the runtime's headers
   for one float at a time; HOOK_FORMATS(f), HOOK_GRID, HOOK_HALF and HOOK_TRACE come from
   edgeconv/search/calibration. */

/* Per layer: position among HOOK_FORMATS, HOOK_GRID for whole multiples of a spacing, HOOK_HALF for
   float16, -1 for float32. */
static const int *hook_formats;
static const float (*hook_grids)[3]; /* per layer: spacing, lowest and highest multiple */

/* Per layer, where its own result goes and what takes the result's place; NULL for neither. */
static void *const *hook_own;
static const void *const *hook_given;

void hook_set(const int *formats, const float (*grids)[3]);
void hook_set(const int *formats, const float (*grids)[3])
{
    hook_formats = formats;
    hook_grids = grids;
}

void hook_compare(void *const *own, const void *const *given);
void hook_compare(void *const *own, const void *const *given)
{
    hook_own = own;
    hook_given = given;
}

EC_INLINE void hook_round(float *values, size_t n, int fmt)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char stored[4];
        ec_store_as(stored, values[i], fmt);
        values[i] = ec_load_as(stored, fmt);
    }
}

/* A number of float16, to nearest even: its last bit is worth 2^-24 at least, and 2^(e - 10) of
   2^e <= |x|.  Added to 1.5 * 2^23 of them, nothing below it is left. */
EC_INLINE float hook_half(float x)
{
    const uint32_t size = ec_bits(x) & 0x7fffffffu, least = 0x38800000u; /* 2^-14 */
    if (size >= 0x7f800000u)
        return x;
    if (size >= 0x477ff000u) /* halfway to 2^16 */
        return ec_from_bits(0x7f800000u | (ec_bits(x) & 0x80000000u));
    const float magic = 1.5f * ec_from_bits(((size < least ? least : size) & 0x7f800000u) + (13u << 23));
    volatile float sum = x + magic; /* rounded here */
    return sum - magic;
}

EC_INLINE void hook_round_to_half(float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = hook_half(values[i]);
}

EC_INLINE void hook_round_to_grid(float *values, size_t n, const float *grid)
{
    for (size_t i = 0; i < n; i++) {
        const float whole = rintf(values[i] / grid[0]);
        values[i] = (whole < grid[1] ? grid[1] : whole > grid[2] ? grid[2] : whole) * grid[0];
    }
}

/* The arena and the caller's outputs are the host's own memory, so that writing is no offence. */
void HOOK_TRACE(int layer, const void *result, size_t bytes);
void HOOK_TRACE(int layer, const void *result, size_t bytes)
{
#define HOOK_CASE(position, fmt) \
    case position: hook_round((float *)(uintptr_t)result, bytes / sizeof(float), fmt); break;
    switch (hook_formats ? hook_formats[layer] : -1) {
        HOOK_FORMATS(HOOK_CASE)
    case HOOK_GRID:
        hook_round_to_grid((float *)(uintptr_t)result, bytes / sizeof(float), hook_grids[layer]);
        break;
    case HOOK_HALF: hook_round_to_half((float *)(uintptr_t)result, bytes / sizeof(float)); break;
    default: break;
    }
    if (hook_own && hook_own[layer])
        memcpy(hook_own[layer], result, bytes);
    if (hook_given && hook_given[layer])
        memcpy((void *)(uintptr_t)result, hook_given[layer], bytes);
}
