"""Everything of chunkmill that touches the world: sources, stores, parsers, models, Ray.

Read :mod:`jobs.pipeline` first.
"""
