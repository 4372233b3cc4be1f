"""Whole PyTorch programs of many kinds, measured and recorded; see ../README.md."""
