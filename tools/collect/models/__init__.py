"""Times whole models with PyTorch: inference and training steps built from known operators."""
