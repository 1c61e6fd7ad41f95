    .syntax unified
    .cpu cortex-m0plus
    .thumb
    .section .text
    ldr r3, =0x18000000         @ SSI
    movs r1, #0
    str r1, [r3, #8]            @ SSIENR
    movs r1, #4
    str r1, [r3, #0x14]         @ BAUDR
    ldr r1, =0x001f0300         @ CTRLR0: standard SPI, 32 bits, EEPROM read
    str r1, [r3]
    ldr r1, =0x03000218         @ SPI_CTRLR0: 03h, 8 bits of command, 24 of address
    movs r0, #0xf4
    str r1, [r3, r0]
    movs r1, #0
    str r1, [r3, #4]            @ CTRLR1: one word
    movs r1, #1
    str r1, [r3, #8]            @ SSIENR
    ldr r0, =0x10000100         @ vector table
    ldr r1, =0xe000ed08         @ VTOR
    str r0, [r1]
    ldm r0!, {r1, r2}
    msr msp, r1
    bx r2
    .ltorg
