"""Names that a network cannot have in what is emitted, each with where it is from.

``net.h`` of a network of such a name would be read in the place of ``<net.h>`` by whatever has the
project's folder among those of its headers; a library or target of the name would be taken for
another one.
"""

from __future__ import annotations

# ISO/IEC 9899:2011 6.4.1 and 9899:2024 6.4.1; ISO/IEC 14882:2020 [lex.key] and, as alternative
# tokens, [lex.digraph]: the header is included from C++ too.
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while
alignas alignof bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual
asm catch char8_t char16_t char32_t class concept const_cast consteval constinit co_await co_return
co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept operator
private protected public reinterpret_cast requires static_cast template this throw try typeid
typename using virtual wchar_t
and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq
main
"""
KEYWORDS = frozenset(_KEYWORDS.split())

# ISO/IEC 9899:2011 7.1.2, and 9899:2024.
_C = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
wchar wctype
stdbit stdckdint
"""
# IEEE Std 1003.1-2017, Base Definitions, 13 Headers, and 1003.1-2024: those of no folder.
_POSIX = """
aio cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue ndbm
netdb nl_types poll pthread pwd regex sched search semaphore spawn strings stropts syslog tar
termios trace ulimit unistd utime utmpx wordexp
devctl endian libintl
"""
# What those include of their own, and what products include beside them: /usr/include of glibc
# 2.36, newlib/libc/include of newlib 4.3.
_C_LIBRARIES = """
aliases alloca ar argp argz byteswap crypt elf envz err error execinfo features fpu_control fstab
fts gconv getopt gshadow ieee754 ifaddrs lastlog link malloc mcheck memory mntent nss obstack paths
printf proc_service pty re_comp regexp resolv sgtty shadow stab stdio_ext syscall sysexits termio
thread_db ttyent ucontext utmp values wait
envlock fastmath ieeefp newlib picotls reent regdef unctrl
"""
# Of the compilers, GCC 14 and Clang 19; all of x86's further ones end in "intrin".
_COMPILERS = """
altivec arm_acle arm_bf16 arm_cde arm_cmse arm_fp16 arm_mve arm_mve_types arm_neon arm_sme arm_sve
arm_vector_types cpuid mm_malloc unwind varargs
"""
_INTRINSICS = "intrin"
# Of the frameworks that a project is a library of (Arduino.h where case does not count).
_FRAMEWORKS = "arduino zephyr windows"
# What every project has that is not called after its network.
_FILES = "main startup firmware app"
# CMake, policies CMP0037 (targets) and, of CTest and CPack, the same; "package" and "test" are
# those of whoever has this project as a part.
_TARGETS = (
    "all clean edit_cache help install none package package_source preinstall rebuild_cache test"
)
# IEEE Std 1003.1-2017, c99, "Standard Libraries" (-l), and GCC's own: a target of the name would be
# linked in their place.
_LIBRARIES = "c dl gcc l m pthread rt trace xnet y"
# Functions and macros of C and POSIX that end in "_init", as <name>_init does: what is before it.
_OBJECTS = """
atomic cnd mtx
posix_spawn_file_actions posix_spawnattr posix_trace_attr pthread_attr pthread_barrier
pthread_barrierattr pthread_cond pthread_condattr pthread_mutex pthread_mutexattr pthread_rwlock
pthread_rwlockattr pthread_spin sem
"""
_NAMES = frozenset(
    " ".join(
        (
            *KEYWORDS,
            *(_C, _POSIX, _C_LIBRARIES, _COMPILERS, _FRAMEWORKS),
            *(_FILES, _TARGETS, _LIBRARIES, _OBJECTS),
        )
    ).split()
)
# The runtime's functions and macros.
_RUNTIME = "ec"


def is_reserved(name: str) -> bool:
    """Whether files and symbols of a project cannot be called after ``name``, an identifier in
    lower case."""
    ours = name == _RUNTIME or name.startswith(f"{_RUNTIME}_")
    return ours or name in _NAMES or name.endswith(_INTRINSICS)
