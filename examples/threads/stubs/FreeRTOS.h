/* What freertos_threads.h uses of FreeRTOS 11, for a compiler to check it by. */
#ifndef STUB_FREERTOS_H
#define STUB_FREERTOS_H
#include <stddef.h>
#include <stdint.h>
#define configMAX_PRIORITIES 8
#define pdTRUE 1
#define portMAX_DELAY UINT32_MAX
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t, StackType_t;
#endif
