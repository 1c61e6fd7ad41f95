"""The hand-written C that edgeconv copies into what it emits: ISA headers and kernels."""
