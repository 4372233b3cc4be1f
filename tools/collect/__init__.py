"""Measuring program: times GPU kernels with PyTorch and Triton for Tilecast's data tables."""
