"""Two checkpoints, or two parts of one, side by side: what was added, removed and changed, where, and by how much.

The structure is compared first and needs no tensor data; values follow tensor by tensor. What is found is plain data
(`viewer.compare.results`) that imports neither torch nor numpy, so that the window can hold it.
"""
