"""SCons as it is installed for Python."""

from SCons.Script import main

main()
