"""A fused mixture-of-experts kernel in Triton and the search over its configurations."""
