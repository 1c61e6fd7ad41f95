/* Calls of ESP-NN's int8 kernels on bytes that lie still, in a program without a library.  What includes it defines MOST and
   FILTERS, the bytes of operands and of filters, and layers(), which bench/esp_nn.py writes.

   Factors and shifts are of the size that quantised networks have; results depend on them, and how many instructions are
   executed hardly does. */
#include <esp_nn.h>
#include <stddef.h>
#include <stdint.h>

enum { CHANNELS = 4096 };
static int8_t a[MOST], b[MOST], out[MOST], filters[FILTERS];
static int32_t bias[CHANNELS], factors[CHANNELS], shifts[CHANNELS];
static uint8_t scratch[2 * MOST];
static void layers(void);

/* Sizes are width, height; kernel: that of the window. */
#define SIZES(w, h, c) {w, h, c, 1}
#define CONVOLUTION(in, kernel, result, ...)                                                                                \
    do {                                                                                                                    \
        const data_dims_t of = in, window = kernel, to = result;                                                            \
        const conv_params_t by = {128, -128, __VA_ARGS__, {-128, 127}};                                                     \
        const quant_data_t quantised = {shifts, factors};                                                                   \
        esp_nn_set_conv_scratch_buf(scratch);                                                                               \
        esp_nn_conv_s8(&of, a, &window, filters, bias, &to, out, &by, &quantised);                                          \
    } while (0)
#define DEPTHWISE(in, kernel, result, multiplier, ...)                                                                      \
    do {                                                                                                                    \
        const data_dims_t of = in, window = kernel, to = result;                                                            \
        const dw_conv_params_t by = {128, -128, multiplier, __VA_ARGS__, {-128, 127}};                                      \
        const quant_data_t quantised = {shifts, factors};                                                                   \
        esp_nn_set_depthwise_conv_scratch_buf(scratch);                                                                     \
        esp_nn_depthwise_conv_s8(&of, a, &window, filters, bias, &to, out, &by, &quantised);                                \
    } while (0)
#define DENSE(in, result)                                                                                                   \
    esp_nn_fully_connected_per_ch_s8(a, 128, in, filters, 0, bias, out, result, -128, shifts, factors, -128, 127)
#define ADD(count)                                                                                                          \
    esp_nn_add_elementwise_s8(a, b, 128, 128, 1073741824, 1518500250, -1, 0, 20, out, -128, 1518500250, -19, -128, 127,     \
                              count)
#define AVERAGE_POOL(in_w, in_h, out_w, out_h, stride_w, stride_h, kernel_w, kernel_h, pad_w, pad_h, channels)              \
    esp_nn_avg_pool_s8(a, in_w, in_h, out, out_w, out_h, stride_w, stride_h, kernel_w, kernel_h, pad_w, pad_h, -128, 127,   \
                       channels)

void *memset(void *to, int byte, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

static void fill(int8_t *to, size_t count)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = (int8_t)(state >> 24);
    }
}

__asm__(".globl _start\n"
        "_start:\n"
        ".option push\n"
        ".option norelax\n"
        "la gp, __global_pointer$\n"
        ".option pop\n"
        "j run\n");

__attribute__((used)) void run(void)
{
    fill(a, sizeof a);
    fill(b, sizeof b);
    fill(filters, sizeof filters);
    for (int i = 0; i < CHANNELS; i++) {
        bias[i] = i;
        factors[i] = 1518500250 + i;
        shifts[i] = -8;
    }
    for (volatile int i = 0; i < RUNS; i++)
        layers();
    register long status __asm__("a0") = 0, call __asm__("a7") = 93; /* exit of Linux */
    __asm__ volatile("ecall" : : "r"(status), "r"(call));
    for (;;)
        ;
}
