/* The arena.  Steps count the calls of tiny_run; lives are from first write to last read.
   offset      bytes    steps       tensor
   0           576         0-2      r0
   0           576         2-3      r2
   576         576         1-2      r1
   576         144         3-4      pooled
   576         144         4-5      flat
   720         24          3-3      workspace of step 3
*/
enum {
    TINY_AT_R0 = 0,
    TINY_AT_R2 = 0,
    TINY_AT_R1 = 576,
    TINY_AT_POOLED = 576,
    TINY_AT_FLAT = 576,
    TINY_WORKSPACE_3 = 720
};
_Static_assert(TINY_AT_R0 + 576 <= TINY_ARENA_BYTES, "arena map");
_Static_assert(TINY_AT_R2 + 576 <= TINY_ARENA_BYTES, "arena map");
_Static_assert(TINY_AT_R1 + 576 <= TINY_ARENA_BYTES, "arena map");
_Static_assert(TINY_AT_POOLED + 144 <= TINY_ARENA_BYTES, "arena map");
_Static_assert(TINY_AT_FLAT + 144 <= TINY_ARENA_BYTES, "arena map");
_Static_assert(TINY_WORKSPACE_3 + 24 <= TINY_ARENA_BYTES, "arena map");

/* One function per distinct layer plan; equal layers share one. */

static void tiny_direct_1(const float *in, const float *weights, const float *bias, float *out)
{
    static const ec_conv s = {
        .in_block = 1, .in_block_step = 144,
        .in_d = 1, .in_h = 12, .in_w = 12,
        .in_plane = 144, .in_row = 12, .in_pixel = 1,
        .kernel_d = 1, .kernel_h = 3, .kernel_w = 3,
        .stride_d = 1, .stride_h = 2, .stride_w = 2,
        .dilation_d = 1, .dilation_h = 1, .dilation_w = 1,
        .pad_h = 1, .pad_w = 1,
        .out_plane = 36, .out_row = 6, .out_pixel = 1,
        .out_vec = 36
    };
    static const ec_epilogue e = {.before = EC_ACT_RELU};
    enum { PLANES = 1, ROWS = 6, ROWS_PER_PASS = 6, TILES = 1, VECTORS = 4, IN_C = 3 };
    for (int y0 = 0; y0 < ROWS; y0 += ROWS_PER_PASS) {
        const int y1 = ec_min_i(y0 + ROWS_PER_PASS, ROWS);
        for (int t = 0; t < TILES; t++) {
            const int c0 = 0, c1 = IN_C;
            const float *const filters = weights + (ptrdiff_t)t * 108;
            const float *const b = bias + t * VECTORS * EC_VL;
            float *const o = out + t * VECTORS * s.out_vec;
            {
                const float *const w = filters;
                ec_part part = {.c0 = c0, .c1 = c1, .first = 1, .last = 1, .next = w};
                for (int z = 0; z < PLANES; z++)
                    for (int y = y0; y < y1; y++) {
                        ec_conv_strip(s, e, &part, in, w, b, NULL, o, z, y, 0, 3, VECTORS, EC_VL, 1);
                        ec_conv_strip(s, e, &part, in, w, b, NULL, o, z, y, 3, 3, VECTORS, EC_VL, 0);
                    }
            }
        }
    }
}

static void tiny_direct_2(const float *in, const float *weights, const float *bias, float *out)
{
    static const ec_conv s = {
        .in_block = 1, .in_block_step = 36,
        .in_d = 1, .in_h = 6, .in_w = 6,
        .in_plane = 36, .in_row = 6, .in_pixel = 1,
        .kernel_d = 1, .kernel_h = 3, .kernel_w = 3,
        .stride_d = 1, .stride_h = 1, .stride_w = 1,
        .dilation_d = 1, .dilation_h = 1, .dilation_w = 1,
        .pad_h = 1, .pad_w = 1,
        .out_plane = 36, .out_row = 6, .out_pixel = 1,
        .out_vec = 36
    };
    static const ec_epilogue e = {.before = EC_ACT_RELU};
    enum { PLANES = 1, ROWS = 6, ROWS_PER_PASS = 6, TILES = 4, VECTORS = 1, IN_C = 4 };
    /* The channels and filters of each tile, which its groups tell. */
    static const int tile_c0[] = {0, 1, 2, 3};
    static const int tile_c1[] = {1, 2, 3, 4};
    static const int tile_start[] = {0, 9, 18, 27};
    for (int y0 = 0; y0 < ROWS; y0 += ROWS_PER_PASS) {
        const int y1 = ec_min_i(y0 + ROWS_PER_PASS, ROWS);
        for (int t = 0; t < TILES; t++) {
            const int c0 = tile_c0[t], c1 = tile_c1[t];
            const float *const filters = weights + tile_start[t];
            const float *const b = bias + t * VECTORS * EC_VL;
            float *const o = out + t * VECTORS * s.out_vec;
            {
                const float *const w = filters;
                ec_part part = {.c0 = c0, .c1 = c1, .first = 1, .last = 1, .next = w};
                for (int z = 0; z < PLANES; z++)
                    for (int y = y0; y < y1; y++) {
                        ec_conv_strip(s, e, &part, in, w, b, NULL, o, z, y, 0, 6, VECTORS, EC_VL, 1);
                    }
            }
        }
    }
}

static void tiny_direct_3(const float *in, const float *weights, const float *bias, const float *residual, float *out)
{
    static const ec_conv s = {
        .in_block = 1, .in_block_step = 36,
        .in_d = 1, .in_h = 1, .in_w = 36,
        .in_plane = 36, .in_row = 36, .in_pixel = 1,
        .kernel_d = 1, .kernel_h = 1, .kernel_w = 1,
        .stride_d = 1, .stride_h = 1, .stride_w = 1,
        .dilation_d = 1, .dilation_h = 1, .dilation_w = 1,
        .out_plane = 36, .out_row = 36, .out_pixel = 1,
        .out_vec = 36
    };
    static const ec_epilogue e = {.has_residual = 1, .after = EC_ACT_RELU};
    enum { PLANES = 1, ROWS = 1, ROWS_PER_PASS = 1, TILES = 1, VECTORS = 4, IN_C = 4 };
    for (int y0 = 0; y0 < ROWS; y0 += ROWS_PER_PASS) {
        const int y1 = ec_min_i(y0 + ROWS_PER_PASS, ROWS);
        for (int t = 0; t < TILES; t++) {
            const int c0 = 0, c1 = IN_C;
            const float *const filters = weights + (ptrdiff_t)t * 16;
            const float *const b = bias + t * VECTORS * EC_VL;
            float *const o = out + t * VECTORS * s.out_vec;
            const float *const r = residual + t * VECTORS * s.out_vec;
            {
                const float *const w = filters;
                ec_part part = {.c0 = c0, .c1 = c1, .first = 1, .last = 1, .next = w};
                for (int z = 0; z < PLANES; z++)
                    for (int y = y0; y < y1; y++) {
                        for (int x = 0; x < 36; x += 4)
                            ec_conv_strip(s, e, &part, in, w, b, r, o, z, y, x, 4, VECTORS, EC_VL, 0);
                    }
            }
        }
    }
}

static void tiny_pool_rows_1(const float *in, float *out, float *workspace)
{
    static const ec_pool s = {
        .max = 1,
        .in_d = 1, .in_h = 6, .in_w = 6,
        .out_d = 1, .out_h = 3, .out_w = 3,
        .kernel_d = 1, .kernel_h = 2, .kernel_w = 2,
        .stride_d = 1, .stride_h = 2, .stride_w = 2,
        .dilation_d = 1, .dilation_h = 1, .dilation_w = 1,
        .end_d = 1, .end_h = 6, .end_w = 6
    };
    static const ec_epilogue e = {0};
    ec_pool_rows(s, e, in, NULL, out, workspace, 4);
}

static void tiny_dense_1(const float *in, const float *weights, const float *bias, float *out)
{
    static const ec_conv s = {
        .in_block = 36, .in_block_step = 36,
        .in_d = 1, .in_h = 1, .in_w = 1,
        .in_plane = 36, .in_row = 36, .in_pixel = 36,
        .kernel_d = 1, .kernel_h = 1, .kernel_w = 1,
        .stride_d = 1, .stride_h = 1, .stride_w = 1,
        .dilation_d = 1, .dilation_h = 1, .dilation_w = 1,
        .out_plane = 3, .out_row = 3, .out_pixel = 3,
        .out_vec = 1
    };
    static const ec_epilogue e = {0};
    enum { PLANES = 1, ROWS = 1, ROWS_PER_PASS = 1, TILES = 1, VECTORS = 3, IN_C = 36 };
    for (int y0 = 0; y0 < ROWS; y0 += ROWS_PER_PASS) {
        const int y1 = ec_min_i(y0 + ROWS_PER_PASS, ROWS);
        for (int t = 0; t < TILES; t++) {
            const int c0 = 0, c1 = IN_C;
            const float *const filters = weights + (ptrdiff_t)t * 108;
            const float *const b = bias + t * VECTORS * EC_VL;
            float *const o = out + t * VECTORS * s.out_vec;
            {
                const float *const w = filters;
                ec_part part = {.c0 = c0, .c1 = c1, .first = 1, .last = 1, .next = w};
                for (int z = 0; z < PLANES; z++)
                    for (int y = y0; y < y1; y++) {
                        ec_conv_strip(s, e, &part, in, w, b, NULL, o, z, y, 0, 1, VECTORS, EC_VL, 0);
                    }
            }
        }
    }
}

static void tiny_softmax_1(const float *x, float *out)
{
    ec_softmax_rows(x, out, 1, 3, 0);
}

/* CRC-32 (polynomial 0xEDB88320) of more bytes, four bits at a time: the table stays small. */
static uint32_t tiny_crc32(uint32_t crc, const unsigned char *data, size_t bytes)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

static uint32_t tiny_u32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Is the image of this program?  The header: magic, version, bytes (64 bits), layout hash (64 bits),
   CRC of all else, zeros. */
static int tiny_check_header(const unsigned char *image)
{
    if (tiny_u32(image) != 0x54574345u || tiny_u32(image + 4) != 2)
        return TINY_E_WEIGHTS_FORMAT;
    if (tiny_u32(image + 8) != (uint32_t)TINY_WEIGHTS_BYTES || tiny_u32(image + 12) != 0)
        return TINY_E_WEIGHTS_SIZE;
    if (tiny_u32(image + 16) != 0xe7982236u || tiny_u32(image + 20) != 0x9732f538u)
        return TINY_E_WEIGHTS_LAYOUT;
    return TINY_OK;
}

int tiny_check_weights(const tiny_model *model, tiny_check *check, size_t most)
{
    tiny_check whole = {0, 0};
    if (!model)
        return TINY_E_NULL;
    if (!check) {
        check = &whole;
        most = TINY_WEIGHTS_BYTES;
    }
    while (most && check->at < TINY_WEIGHTS_BYTES) {
        const size_t end = check->at < 24 ? 24 : TINY_WEIGHTS_BYTES, left = end - check->at;
        const size_t bytes = left < most ? left : most;
        check->crc = tiny_crc32(check->crc, model->weights + check->at, bytes);
        check->at += bytes;
        most -= bytes;
        if (check->at == 24) /* the CRC covers all but itself */
            check->at += 4;
    }
    if (check->at < TINY_WEIGHTS_BYTES)
        return TINY_MORE;
    const uint32_t crc = check->crc;
    check->crc = 0; /* ready for the next round */
    check->at = 0;
    if (crc != tiny_u32(model->weights + 24))
        return TINY_E_WEIGHTS_CRC;
    return tiny_check_header(model->weights);
}

int tiny_init(tiny_model *model, const void *weights, size_t weights_bytes, void *arena,
    size_t arena_bytes)
{
    const unsigned char *const image = weights;
    if (!model || !weights || !arena)
        return TINY_E_NULL;
    if (arena_bytes < TINY_ARENA_BYTES)
        return TINY_E_ARENA_SIZE;
    if ((uintptr_t)arena % TINY_ARENA_ALIGN || (uintptr_t)weights % TINY_ARENA_ALIGN)
        return TINY_E_ALIGN;
    if (weights_bytes != TINY_WEIGHTS_BYTES)
        return TINY_E_WEIGHTS_SIZE;
    const int header = tiny_check_header(image);
    if (header != TINY_OK)
        return header;
    model->weights = image;
    model->arena = arena;
#ifndef TINY_NO_CRC
    return tiny_check_weights(model, NULL, 0);
#else
    return TINY_OK;
#endif
}

/* Called after every layer when compiled in.  Tracing: by verify --layers and bench --layers. */
#ifdef TINY_TRACE
void tiny_trace(int layer, const void *result, size_t bytes);
#define TRACED(layer, result, bytes) tiny_trace(layer, result, bytes)
#else
#define TRACED(layer, result, bytes) ((void)0)
#endif
/* A function of the application that feeds a watchdog, or yields to other tasks. */
#ifdef TINY_WATCHDOG
void tiny_watchdog(int layer);
#define DONE(layer, result, bytes) (TRACED(layer, result, bytes), tiny_watchdog(layer))
#else
#define DONE(layer, result, bytes) TRACED(layer, result, bytes)
#endif
#define AT(offset) ((float *)(void *)(model->arena + (offset)))
#define WT(offset) ((const float *)(const void *)(model->weights + (offset)))

int tiny_run(const tiny_model *model, const float *input_image, float *output_p)
{
    if (!model || !input_image || !output_p)
        return TINY_E_NULL;

    /* 0: Conv "stem, stem_relu" + relu
       1x3x12x12 NCHW float32 @input -> 1x4x6x6 NCHW float32 @0
       3888 MACs; direct (mr 3, nr 4, row 6, rows_per_pass 6, channels_per_pass 3); 448 bytes of weights */
    tiny_direct_1(input_image, WT(64), WT(512), AT(TINY_AT_R0));
    DONE(0, AT(TINY_AT_R0), 576);

    /* 1: Conv "depthwise, depthwise_relu" + relu
       1x4x6x6 NCHW float32 @0 -> 1x4x6x6 NCHW float32 @576
       1296 MACs; direct (mr 6, nr 1, row 6, rows_per_pass 6, channels_per_pass 4); 160 bytes of weights */
    tiny_direct_2(AT(TINY_AT_R0), WT(576), WT(768), AT(TINY_AT_R1));
    DONE(1, AT(TINY_AT_R1), 576);

    /* 2: Conv "pointwise, add, add_relu" + residual + relu
       1x4x6x6 NCHW float32 @576, 1x4x6x6 NCHW float32 @0 -> 1x4x6x6 NCHW float32 @0
       576 MACs; direct (mr 4, nr 4, row 36, rows_per_pass 1, channels_per_pass 4); 80 bytes of weights */
    tiny_direct_3(AT(TINY_AT_R1), WT(832), WT(896), AT(TINY_AT_R0), AT(TINY_AT_R2));
    DONE(2, AT(TINY_AT_R2), 576);

    /* 3: Pool "pool"
       1x4x6x6 NCHW float32 @0 -> 1x4x3x3 NCHW float32 @576
       pool_rows */
    tiny_pool_rows_1(AT(TINY_AT_R2), AT(TINY_AT_POOLED), AT(TINY_WORKSPACE_3));
    DONE(3, AT(TINY_AT_POOLED), 144);

    /* 4: Reshape "flatten"
       1x4x3x3 NCHW float32 @576 -> 1x36 float32 @576
       view */
    /* nothing moves: the result lies where it is needed */
    DONE(4, AT(TINY_AT_FLAT), 144);

    /* 5: Dense "dense"
       1x36 float32 @576 -> 1x3 float32 @output
       108 MACs; dense (mr 1, nr 3, row 1, rows_per_pass 1, channels_per_pass 36); 444 bytes of weights */
    tiny_dense_1(AT(TINY_AT_FLAT), WT(960), WT(1408), output_p);
    DONE(5, output_p, 12);

    /* 6: Softmax "softmax"
       1x3 float32 @output -> 1x3 float32 @output
       softmax */
    tiny_softmax_1(output_p, output_p);
    DONE(6, output_p, 12);
    return TINY_OK;
}

#undef AT
#undef WT
#undef DONE
#undef TRACED

const char *tiny_strerror(int result)
{
    switch (result) {
    case TINY_OK: return "ok";
    case TINY_E_NULL: return "a pointer is null";
    case TINY_E_ARENA_SIZE: return "arena too small";
    case TINY_E_ALIGN: return "arena or weights misaligned";
    case TINY_E_WEIGHTS_SIZE: return "weight image has a wrong size";
    case TINY_E_WEIGHTS_FORMAT: return "not a weight image of this version";
    case TINY_E_WEIGHTS_LAYOUT: return "weight image of another model, board or plan";
    case TINY_E_WEIGHTS_CRC: return "weight image damaged";
    case TINY_MORE: return "more of the weight image is to be read";
    default: return "unknown result";
    }
}
