"""Stand-in for PlatformIO's platform of this name."""

from platformio.public import PlatformBase


class NativePlatform(PlatformBase):
    """Builds with the compiler of the machine."""
