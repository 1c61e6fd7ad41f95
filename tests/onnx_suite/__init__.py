"""The test cases that ONNX ships for its operators, as given: compiled, built and run here."""
