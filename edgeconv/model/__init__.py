"""From a file to a graph: ONNX and TensorFlow Lite, and the passes that rewrite graphs."""
