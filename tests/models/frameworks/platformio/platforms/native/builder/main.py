"""How the platform builds: for size, as those of microcontrollers do."""

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
env.Append(ASPPFLAGS=["-x", "assembler-with-cpp"], CCFLAGS=["-Os"], LIBS=["m"])
Default(env.BuildProgram())
