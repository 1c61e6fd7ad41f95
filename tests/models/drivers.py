"""C and C++ programs around emitted networks, as an engineer might write them."""

from __future__ import annotations

CPP = """\
#include "net.h"

class Network {
  public:
    int start() { return net_init(&model_, net_weights, NET_WEIGHTS_BYTES, arena_, sizeof arena_); }
    int run(const float *image, float *features, float *p) const
    {
        return net_run(&model_, image, features, p);
    }

  private:
    net_model model_;
    alignas(NET_ARENA_ALIGN) unsigned char arena_[NET_ARENA_BYTES];
};

int use(const float *image, float *features, float *p)
{
    static Network network;
    return network.start() || network.run(image, features, p);
}
"""

TWO_NETWORKS = """\
#include "digits.h"
#include "net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void read_floats(const char *path, float *to, size_t count)
{
    FILE *file = fopen(path, "rb");
    if (!file || fread(to, sizeof *to, count, file) != count)
        exit(2);
    fclose(file);
}

static int equal(const float *got, const char *path, size_t count)
{
    static float want[4096];
    float largest = 0.0f, worst = 0.0f;
    read_floats(path, want, count);
    for (size_t i = 0; i < count; i++) {
        largest = fmaxf(largest, fabsf(want[i]));
        worst = fmaxf(worst, fabsf(got[i] - want[i]));
    }
    return worst <= 1e-4f * largest;
}

static _Alignas(64) unsigned char digits_arena[DIGITS_ARENA_BYTES];
static _Alignas(64) unsigned char net_arena[NET_ARENA_BYTES];
static float image[DIGITS_INPUT_IMAGE_ELEMENTS + NET_INPUT_IMAGE_ELEMENTS];
static float out[4096];

int main(void)
{
    digits_model digits;
    net_model net;
    if (digits_init(
            &digits, digits_weights, DIGITS_WEIGHTS_BYTES, digits_arena, sizeof digits_arena))
        return 2;
    if (net_init(&net, net_weights, NET_WEIGHTS_BYTES, net_arena, sizeof net_arena))
        return 2;
    read_floats("digits_input.bin", image, DIGITS_INPUT_IMAGE_ELEMENTS);
    digits_run(&digits, image, out);
    puts(equal(out, "digits_expected.bin", DIGITS_OUTPUT_LOGITS_ELEMENTS) ? "digits equal" : "no");
    read_floats("net_input.bin", image, NET_INPUT_IMAGE_ELEMENTS);
    net_run(&net, image, out, out + NET_OUTPUT_FEATURES_ELEMENTS);
    puts(equal(out, "net_expected.bin", NET_OUTPUT_FEATURES_ELEMENTS + NET_OUTPUT_P_ELEMENTS)
             ? "net equal"
             : "no");
    return 0;
}
"""

THREADS = """\
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, RUNS = 50 };
typedef struct worker {
    _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
    float features[NET_OUTPUT_FEATURES_ELEMENTS], p[NET_OUTPUT_P_ELEMENTS];
    pthread_t thread;
    int result;
} worker;

static worker workers[THREADS];
static float image[NET_INPUT_IMAGE_ELEMENTS];

static void *work(void *argument)
{
    worker *w = argument;
    net_model model;
    w->result = net_init(&model, net_weights, NET_WEIGHTS_BYTES, w->arena, sizeof w->arena);
    for (int i = 0; i < RUNS && !w->result; i++)
        w->result = net_run(&model, image, w->features, w->p);
    return NULL;
}

int main(void)
{
    FILE *file = fopen("net_input.bin", "rb");
    if (!file || fread(image, sizeof image, 1, file) != 1)
        return 2;
    fclose(file);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].result || memcmp(workers[i].p, workers[0].p, sizeof workers[0].p)
            || memcmp(workers[i].features, workers[0].features, sizeof workers[0].features)) {
            printf("thread %d differs\\n", i);
            return 1;
        }
    }
    puts("identical");
    return 0;
}
"""

READ_ONLY_INPUT = """\
#define _DEFAULT_SOURCE
#include "net.h"
#include <stdio.h>
#include <sys/mman.h>

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
static float features[NET_OUTPUT_FEATURES_ELEMENTS], p[NET_OUTPUT_P_ELEMENTS];

int main(void)
{
    const size_t bytes = sizeof(float) * NET_INPUT_IMAGE_ELEMENTS;
    const void *image = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    net_model model;
    if (image == MAP_FAILED)
        return 2;
    if (net_init(&model, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena) != NET_OK)
        return 2;
    if (net_run(&model, image, features, p) != NET_OK)
        return 1;
    puts("ok");
    return 0;
}
"""

INIT = """\
#include "net.h"
#include <stdio.h>
#include <string.h>

static _Alignas(64) unsigned char arena[NET_ARENA_BYTES + 64], image[NET_WEIGHTS_BYTES];
static net_model model;

static void try_init(const void *weights, size_t weights_bytes, void *memory, size_t bytes)
{
    puts(net_strerror(net_init(&model, weights, weights_bytes, memory, bytes)));
}

/* The image with one byte changed. */
static const void *changed(size_t at)
{
    memcpy(image, net_weights, sizeof image);
    image[at] ^= 1;
    return image;
}

int main(void)
{
    const size_t size = NET_WEIGHTS_BYTES, room = NET_ARENA_BYTES;
    try_init(net_weights, size, arena, sizeof arena);
    puts(net_strerror(net_init(NULL, net_weights, size, arena, room)));
    try_init(NULL, size, arena, room);
    try_init(net_weights, size, NULL, room);
    try_init(net_weights, size, arena, room - 1);
    try_init(net_weights, size, arena + 1, room);
    try_init(net_weights, size - 1, arena, room);
    try_init(changed(0), size, arena, room);
    try_init(changed(16), size, arena, room);
    try_init(changed(size / 2), size, arena, room);
    memcpy(image, net_weights, sizeof image);
    if (net_init(&model, image, size, arena, room) == NET_OK && model.weights == image)
        puts("a copy of the image will do");
    return 0;
}
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(both C ASM)
add_subdirectory(digits)
add_subdirectory(net)
add_executable(both main.c)
target_link_libraries(both PRIVATE digits net m)
"""

# A network that needs no arena.
NO_ARENA = r"""
#include "relu.h"
#include <stdio.h>

int main(void)
{
    static const float in[6] = {-1.0f, 2.0f, -3.0f, 4.0f, -5.0f, 6.0f};
    float out[6];
    relu_model model;
    int status = relu_init(&model, relu_weights, RELU_WEIGHTS_BYTES, NULL, RELU_ARENA_BYTES);
    if (status == RELU_OK)
        status = relu_run(&model, in, out);
    if (status == RELU_OK && out[0] == 0.0f && out[5] == 6.0f)
        puts("ok");
    else
        puts(relu_strerror(status));
    return 0;
}
"""

# One network, its outputs compared with the reference.
DIGITS = """\
#include "digits.h"
#include <stdio.h>

static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];
static float image[DIGITS_INPUT_IMAGE_ELEMENTS];
static float got[DIGITS_OUTPUT_LOGITS_ELEMENTS], want[DIGITS_OUTPUT_LOGITS_ELEMENTS];

static int read_floats(const char *path, float *to, size_t count)
{
    FILE *file = fopen(path, "rb");
    const int complete = file && fread(to, sizeof *to, count, file) == count;
    if (file)
        fclose(file);
    return complete;
}

int main(void)
{
    digits_model model;
    if (digits_init(&model, digits_weights, DIGITS_WEIGHTS_BYTES, arena, sizeof arena))
        return 2;
    if (!read_floats("digits_input.bin", image, DIGITS_INPUT_IMAGE_ELEMENTS))
        return 2;
    if (!read_floats("digits_expected.bin", want, DIGITS_OUTPUT_LOGITS_ELEMENTS))
        return 2;
    digits_run(&model, image, got);
    for (int i = 0; i < DIGITS_OUTPUT_LOGITS_ELEMENTS; i++)
        if (got[i] - want[i] > 1e-3f || want[i] - got[i] > 1e-3f)
            return 1;
    puts("digits equal");
    return 0;
}
"""

# kept: bits of each layer's result that remain, by execution order; 32 rounds nothing.
ROUNDING = """\
#include "net.h"
#include <stdio.h>
#include <string.h>

static const unsigned char kept[] = {@KEPT@};
static _Alignas(64) unsigned char arena[NET_ARENA_BYTES ? NET_ARENA_BYTES : 1];
static float image[NET_INPUT_IMAGE_ELEMENTS];
static float features[NET_OUTPUT_FEATURES_ELEMENTS], p[NET_OUTPUT_P_ELEMENTS];

#ifdef NET_TRACE
void net_trace(int layer, const void *result, size_t bytes);
void net_trace(int layer, const void *result, size_t bytes)
{
    unsigned char *at = (unsigned char *)result;
    const int bits = kept[layer];
    for (size_t i = 0; bits < 32 && i < bytes; i += 4) {
        unsigned word, unit = 1u << (32 - bits);
        memcpy(&word, at + i, 4);
        word += (bits == 8 ? 0x5fffffu : unit / 2u - 1u) + (word / unit & 1u);
        word &= 0u - unit;
        memcpy(at + i, &word, 4);
    }
}
#endif

int main(int argc, char **argv)
{
    net_model net;
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL, *out;
    (void)kept;
    if (!in || fread(image, sizeof image, 1, in) != 1)
        return 2;
    fclose(in);
    if (net_init(&net, net_weights, NET_WEIGHTS_BYTES, arena, sizeof arena))
        return 3;
    if (net_run(&net, image, features, p))
        return 4;
    out = fopen(argv[2], "wb");
    if (!out || fwrite(features, sizeof features, 1, out) != 1)
        return 5;
    return fwrite(p, sizeof p, 1, out) != 1 || fclose(out);
}
"""
