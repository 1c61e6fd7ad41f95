"""What chooses: options, kernels, memory, prediction, calibration, formats within budgets."""
