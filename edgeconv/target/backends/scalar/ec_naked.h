/* Functions that are written in assembly as a whole. */
#ifndef EC_NAKED_H
#define EC_NAKED_H

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define EC_NAKED static __attribute__((naked, noinline, noipa, unused))
#endif
#endif
#ifndef EC_NAKED
#define EC_NAKED static __attribute__((naked, noinline, unused))
#endif

#endif
