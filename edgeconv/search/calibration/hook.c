/* Called after every layer of a network that is being calibrated: rounds the layer's result in
   place, as if it had been stored in another format and read back.  Behind the runtime's headers
   for one float at a time; HOOK_FORMATS(f), HOOK_GRID and HOOK_TRACE come from
   edgeconv/search/calibration. */

/* Per layer: position among HOOK_FORMATS, HOOK_GRID for whole multiples of a spacing, -1 for
   float32. */
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
    default: break;
    }
    if (hook_own && hook_own[layer])
        memcpy(hook_own[layer], result, bytes);
    if (hook_given && hook_given[layer])
        memcpy((void *)(uintptr_t)result, hook_given[layer], bytes);
}
