"""edgeconv: compile ONNX convolutional networks to standalone C."""

__version__ = "0.1.0"
