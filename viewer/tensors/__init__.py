"""Values: read a tensor, its statistics and its histogram, on any device. The one door to torch and numpy.

Both are imported inside functions alone: `import torch` takes over a second, and the rooms that only pass results on
(`viewer.tensors.results`) must not pay for it.
"""
