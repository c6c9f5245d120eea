"""The models of the benchmarks in PyTorch alone: SGD, DP-SGD(F), EANA and LazyDP, and their check.

Not named torch: a package of that name would hide PyTorch from the scripts beside it.
"""
