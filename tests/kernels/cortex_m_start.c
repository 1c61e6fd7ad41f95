/* As much of a C library as int8_cortex_m.c asks for, on a Cortex-M in an emulator that takes semihosting. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

int main(void);
void Reset_Handler(void);
static int32_t ask(int32_t operation, const void *parameter)
{
    register int32_t answer __asm__("r0") = operation;
    register const void *given __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(answer) : "r"(given) : "memory");
    return answer;
}
void Reset_Handler(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xfu << 20; /* CPACR: floating point and vectors */
    __asm__ volatile("dsb\n isb" ::: "memory");
    const uint32_t done[2] = {0x20026u, (uint32_t)main()}; /* ADP_Stopped_ApplicationExit */
    ask(0x20, done);                                       /* SYS_EXIT_EXTENDED */
    for (;;) {
    }
}
typedef struct vectors {
    uint32_t stack;
    void (*reset)(void);
} vectors;
__attribute__((section(".vectors"), used)) static const vectors table = {0x20070000u, Reset_Handler};

void *memset(void *to, int value, size_t bytes)
{
    for (unsigned char *at = to; bytes; bytes--)
        *at++ = (unsigned char)value;
    return to;
}
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    unsigned char *at = to;
    for (const unsigned char *of = from; bytes; bytes--)
        *at++ = *of++;
    return to;
}

/* Blocks are freed all together, when the last one is. */
static unsigned char heap[0x60000] __attribute__((aligned(16)));
static size_t used, blocks;
void *calloc(size_t n, size_t bytes)
{
    void *const found = heap + used;
    blocks++;
    used += (n * bytes + 15) / 16 * 16;
    return memset(found, 0, n * bytes);
}
void free(void *block)
{
    (void)block;
    if (--blocks == 0)
        used = 0;
}

/* Numbers, whatever the format, with a space behind each. */
int printf(const char *format, ...)
{
    va_list given;
    va_start(given, format);
    for (; *format; format++) {
        if (*format != '%')
            continue;
        char digits[12], *at = digits + sizeof digits;
        unsigned long number = (unsigned long)va_arg(given, long);
        *--at = 0;
        *--at = ' ';
        do
            *--at = (char)('0' + number % 10);
        while (number /= 10);
        ask(0x04, at); /* SYS_WRITE0 */
    }
    va_end(given);
    return 0;
}
