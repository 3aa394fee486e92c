"""The pure chunking core: spans, units, boundaries, packing and pooling.

Imports the standard library, numpy and pyarrow only. Everything that touches the
world (Ray, docling, torch, object stores) lives in the package ``jobs``.
"""
