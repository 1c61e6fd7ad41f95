"""A convolution algorithm that the package does not have, as someone would add it."""
