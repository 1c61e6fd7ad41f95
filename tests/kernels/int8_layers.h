/* Random layers of int8, their results by definition in int64, filters in the orders that kernels read. */
int printf(const char *format, ...); /* declared, since freestanding C has no headers for them */
void *calloc(size_t n, size_t bytes);
void free(void *block);

static uint32_t state = 1;
static int draw(int from, int to) /* from <= result <= to */
{
    state = state * 1664525u + 1013904223u;
    return from + (int)((state >> 8) % (uint32_t)(to - from + 1));
}
static int8_t number(int kind) /* 0: random, 1: extremes alone, 2: the least alone */
{
    return (int8_t)(kind == 0 ? draw(-128, 127) : kind == 1 ? (draw(0, 1) ? 127 : -128) : -128);
}

/* Every array is a block of its own, so that address sanitizer sees its ends. */
static void *bytes_of(size_t bytes) { return calloc(1, bytes ? bytes : 1); }

static long different, compared, between;
static inline void compare(const int8_t *found, const int8_t *wanted, int n)
{
    for (int i = 0; i < n; i++) {
        different += found[i] != wanted[i];
        between += wanted[i] > INT8_MIN && wanted[i] < INT8_MAX;
    }
    compared += n;
}

#ifdef EC_INT8_RIGHT
static int own_shift; /* whether a layer may have one, and which starts sums may have */
enum { MOST_STARTED = 100000 };
#define RIGHT (own_shift ? draw(1, 12) : EC_INT8_RIGHT)
#else
enum { MOST_STARTED = 1000000000 };
#define RIGHT draw(1, 22)
#endif
static ec_int8_result result_of(void)
{
    ec_int8_result result = {.right = RIGHT, .low = -128, .high = 127};
    if (draw(0, 3) == 0) {
        result.low = draw(-128, 127);
        result.high = draw(result.low, 127);
    }
    result.offset = (draw(-128, 127) * (1 << (result.right - 1)) * 2) + (1 << (result.right - 1));
    return result;
}
/* So that the word of a sum is some 256 * 2^right at most, or overflows the result by far. */
static int32_t multiplier_of(ec_int8_result result, int terms)
{
    int64_t most = ((int64_t)1 << (32 + result.right)) / ((int64_t)terms * 64 + 1);
    if (most > INT32_MAX)
        most = INT32_MAX;
    const int64_t fraction = draw(1, 1 << 20);
    const int64_t found = most * fraction >> 20;
    return found ? (int32_t)found : 1;
}
static int8_t defined(ec_int8_result result, int64_t sum, int32_t multiplier)
{
    /* floor((sum * multiplier / 2^32 + offset) / 2^right) without a shift of a negative number */
    const int64_t unit = (int64_t)1 << 32, product = sum * multiplier;
    int64_t word = product / unit - (product % unit < 0) + result.offset;
    const int64_t step = (int64_t)1 << result.right;
    word = word / step - (word % step < 0);
    return (int8_t)(word < result.low ? result.low : word > result.high ? result.high : word);
}

typedef struct layer {
    ec_int8_conv spec;
    int8_t *in, *filters, *out, *wanted; /* filters: out_c, kernel_h, kernel_w, channels */
    int32_t *start, *multiplier;
    int per_filter, in_bytes, out_bytes;
} layer;

/* Of `groups`: in_c of them, or one. */
static layer layer_of(int in_c, int out_c, int groups, ec_window window)
{
    const ec_window w = window;
    const int kind = draw(0, 5), terms = w.kernel_h * w.kernel_w * (in_c / groups);
    layer l = {.spec = {.window = w, .in_c = in_c, .out_c = out_c, .padding = draw(-128, 127),
                        .in_row = w.in_w * in_c, .in_pixel = in_c, .out_row = w.out_w * out_c,
                        .out_pixel = out_c, .result = result_of()},
               .per_filter = terms, .in_bytes = w.in_h * w.in_w * in_c, .out_bytes = w.out_h * w.out_w * out_c};
    l.in = bytes_of((size_t)l.in_bytes);
    l.filters = bytes_of((size_t)(out_c * terms));
    l.out = bytes_of((size_t)l.out_bytes);
    l.wanted = bytes_of((size_t)l.out_bytes);
    l.start = bytes_of(4 * (size_t)out_c);
    l.multiplier = bytes_of(4 * (size_t)out_c);
    for (int i = 0; i < l.in_bytes; i++)
        l.in[i] = number(kind - 3);
    for (int i = 0; i < out_c * terms; i++)
        l.filters[i] = number(kind - 3);
    for (int i = 0; i < out_c; i++) {
        l.start[i] = draw(0, 3) ? draw(-100000, 100000) : draw(-1, 1) * MOST_STARTED;
        l.multiplier[i] = multiplier_of(l.spec.result, terms);
    }
    return l;
}

/* Of output pixel (y, x) and filter o. */
static int64_t sum_of(const layer *of, int groups, int y, int x, int o)
{
    const ec_window w = of->spec.window;
    const int in_c = of->spec.in_c, inner = in_c / groups;
    int64_t sum = of->start[o];
    for (int ky = 0; ky < w.kernel_h; ky++)
        for (int kx = 0; kx < w.kernel_w; kx++)
            for (int c = 0; c < inner; c++) {
                const int in_y = y * w.stride_h - w.pad_h + ky * w.dilation_h;
                const int in_x = x * w.stride_w - w.pad_w + kx * w.dilation_w;
                const int outside = in_y < 0 || in_y >= w.in_h || in_x < 0 || in_x >= w.in_w;
                const int at = (in_y * w.in_w + in_x) * in_c + o / (of->spec.out_c / groups) * inner + c;
                sum += (int64_t)(outside ? of->spec.padding : of->in[at]) *
                       of->filters[((o * w.kernel_h + ky) * w.kernel_w + kx) * inner + c];
            }
    return sum;
}

static inline void define(layer *of, int groups)
{
    layer *const l = of;
    const int width = l->spec.window.out_w, out_c = l->spec.out_c;
    for (int y = 0; y < l->spec.window.out_h; y++)
        for (int x = 0; x < width; x++)
            for (int o = 0; o < out_c; o++)
                l->wanted[(y * width + x) * out_c + o] =
                    defined(l->spec.result, sum_of(l, groups, y, x, o), l->multiplier[o]);
}

/* A window that reads at least a pixel; padding up to a kernel's. */
static ec_window window_of(int kernel, int dilate)
{
    for (;;) {
        ec_window w = {.in_h = draw(1, 8), .in_w = draw(1, 8), .stride_h = draw(1, 3), .stride_w = draw(1, 3),
                       .dilation_h = draw(1, 2), .dilation_w = dilate ? draw(1, 2) : 1};
        w.kernel_h = kernel ? kernel : draw(1, 4);
        w.kernel_w = kernel ? kernel : draw(1, 4);
        w.pad_h = draw(0, w.kernel_h - 1);
        w.pad_w = draw(0, w.kernel_w - 1);
        const int reach_h = (w.kernel_h - 1) * w.dilation_h + 1, reach_w = (w.kernel_w - 1) * w.dilation_w + 1;
        const int after_h = draw(0, w.kernel_h - 1), after_w = draw(0, w.kernel_w - 1);
        if (w.in_h + w.pad_h + after_h < reach_h || w.in_w + w.pad_w + after_w < reach_w)
            continue;
        w.out_h = (w.in_h + w.pad_h + after_h - reach_h) / w.stride_h + 1;
        w.out_w = (w.in_w + w.pad_w + after_w - reach_w) / w.stride_w + 1;
        return w;
    }
}

/* With so many rows of the output more, as more rows of the input make them. */
static EC_ATTRIBUTES(unused) ec_window taller(ec_window w, int rows)
{
    w.in_h += rows * w.stride_h, w.out_h += rows;
    return w;
}

/* Of one column, of more rows than are computed together. */
static EC_ATTRIBUTES(unused) ec_window window_of_column(void)
{
    ec_window w = {.in_h = draw(1, 60), .in_w = 1, .out_w = 1, .kernel_h = draw(2, 10), .kernel_w = 1,
                   .stride_h = draw(1, 4), .stride_w = 1, .dilation_h = draw(1, 4), .dilation_w = 1};
    const int reach = (w.kernel_h - 1) * w.dilation_h + 1, beyond = draw(0, reach);
    w.pad_h = draw(0, reach);
    while (w.in_h + w.pad_h + beyond < reach)
        w.in_h++;
    w.out_h = (w.in_h + w.pad_h + beyond - reach) / w.stride_h + 1;
    return w;
}

/* Number j of kernel row ky, as ec_int8_panel.h orders them. */
static int order_of(const ec_window window, int in_c, int ky, int j)
{
    const int row = window.kernel_w * in_c, whole = row / 4 * 4;
    return j < whole ? ky * whole + j : window.kernel_h * whole + ky * (row - whole) + j - whole;
}

/* Filters by `together`, k-block by k-block, and their starts and multipliers. */
static inline void pack(const layer *of, int together, int8_t **filters, int32_t **channels)
{
    const layer *const l = of;
    const ec_window w = l->spec.window;
    const int k_blocks = (l->per_filter + 3) / 4, row = w.kernel_w * l->spec.in_c, out_c = l->spec.out_c;
    const int sets = (out_c + together - 1) / together;
    *filters = bytes_of((size_t)(sets * together * 4 * k_blocks));
    *channels = bytes_of((size_t)(sets * together) * 8);
    for (int o = 0; o < out_c; o++) {
        int8_t *const set = *filters + o / together * together * 4 * k_blocks;
        for (int ky = 0; ky < w.kernel_h; ky++)
            for (int j = 0; j < row; j++) {
                const int k = order_of(w, l->spec.in_c, ky, j);
                set[(k / 4 * together + o % together) * 4 + k % 4] = l->filters[o * l->per_filter + ky * row + j];
            }
        (*channels)[o / together * 2 * together + o % together] = l->start[o];
        (*channels)[o / together * 2 * together + together + o % together] = l->multiplier[o];
    }
}

enum { AHEAD = 24 }; /* bytes that are read beyond a panel and filters */

/* Filters joined in pairs, of `plain` ones by `together`. */
static inline int8_t *joined(const layer *of, const int8_t *plain, int together)
{
    const int k_blocks = (of->per_filter + 3) / 4, pairs = (of->spec.out_c + together - 1) / together * together / 2;
    int8_t *const both = bytes_of((size_t)(8 * pairs * k_blocks + AHEAD));
    for (int i = 0; i < pairs * k_blocks; i++)
        for (int k = 0; k < 4; k++) {
            const int8_t f = plain[8 * i + k], g = plain[8 * i + 4 + k];
            int8_t *const to = both + 8 * i + k % 2 * 4 + k / 2 * 2;
            to[0] = f, to[1] = (int8_t)(g - (f < 0));
        }
    return both;
}

/* Filters by four, 16 numbers of each. */
static inline int8_t *pack_1x4(const layer *of)
{
    const int out_c = of->spec.out_c, n = of->per_filter;
    int8_t *const filters = bytes_of((size_t)((out_c + 3) / 4 * ec_int8_1x4_bytes(n) + EC_INT8_BEYOND_1X4));
    for (int o = 0; o < out_c; o++)
        for (int k = 0; k < n; k++)
            filters[o / 4 * ec_int8_1x4_bytes(n) + k / 16 * 64 + o % 4 * 16 + k % 16] = of->filters[o * n + k];
    return filters;
}

/* By how many bytes the input must lie behind the result for that to be written over it: windows of pixels
   behind the one that is written are read later, of which `again` says that its own one is, too; and so is the
   input's pixel itself where it is a residual. */
static inline int apart_of(const layer *of, int again, int added)
{
    const ec_window w = of->spec.window;
    const int pixels = w.out_h * w.out_w;
    int first = of->in_bytes, apart = 0;
    for (int i = pixels - 1; i >= 0; i--) {
        const int end = (i + 1) * of->spec.out_c, later = first;
        for (int ky = 0; ky < w.kernel_h; ky++)
            for (int kx = 0; kx < w.kernel_w; kx++) {
                const int y = i / w.out_w * w.stride_h - w.pad_h + ky * w.dilation_h;
                const int x = i % w.out_w * w.stride_w - w.pad_w + kx * w.dilation_w;
                if (y >= 0 && y < w.in_h && x >= 0 && x < w.in_w)
                    first = ec_min_i(first, (y * w.in_w + x) * of->spec.in_c);
            }
        if (added)
            first = ec_min_i(first, i * of->spec.out_c);
        if (i + 1 < pixels || again)
            apart = ec_max_i(apart, end - (again ? first : later));
    }
    return apart;
}
/* The same of `tile` pixels, whose windows are read, `again` while they are written, before those of the next ones. */
static EC_ATTRIBUTES(unused) int apart_of_tiles(const layer *of, int tile, int again)
{
    const ec_window w = of->spec.window;
    const int pixels = w.out_h * w.out_w;
    int first = of->in_bytes, apart = 0;
    for (int from = (pixels - 1) / tile * tile; from >= 0; from -= tile) {
        const int end = ec_min_i(from + tile, pixels), later = first;
        for (int i = from; i < end; i++)
            for (int k = 0; k < w.kernel_h * w.kernel_w; k++) {
                const int y = i / w.out_w * w.stride_h - w.pad_h + k / w.kernel_w * w.dilation_h;
                const int x = i % w.out_w * w.stride_w - w.pad_w + k % w.kernel_w * w.dilation_w;
                if (y >= 0 && y < w.in_h && x >= 0 && x < w.in_w)
                    first = ec_min_i(first, (y * w.in_w + x) * of->spec.in_c);
            }
        if (end < pixels || again)
            apart = ec_max_i(apart, end * of->spec.out_c - (again ? first : later));
    }
    return apart;
}
/* The same where rows of some channels are read, then written: whole pixels. */
static inline int rows_apart(const layer *of)
{
    const ec_window w = of->spec.window;
    int apart = 0;
    for (int y = 0; y + 1 < w.out_h; y++) {
        const int next = ec_min_i(ec_max_i((y + 1) * w.stride_h - w.pad_h, 0), w.in_h);
        apart = ec_max_i(apart, ((y + 1) * w.out_w - next * w.in_w) * of->spec.in_c);
    }
    return apart;
}
/* A block in which the result may lie where it begins, and the input, which is copied to it. */
static inline int8_t *over_input(const layer *of, int apart, int8_t **in)
{
    int8_t *const out = bytes_of((size_t)ec_max_i(of->out_bytes, apart + of->in_bytes));
    *in = out + apart;
    memcpy(*in, of->in, (size_t)of->in_bytes);
    return out;
}

static void release(layer *of)
{
    free(of->in), free(of->filters), free(of->out), free(of->wanted), free(of->start), free(of->multiplier);
}

static inline int8_t floored(ec_int8_result result, int64_t number)
{
    const int64_t unit = (int64_t)1 << result.right, whole = number / unit - (number % unit < 0);
    return (int8_t)(whole < result.low ? result.low : whole > result.high ? result.high : whole);
}
