"""``chunkmill inspect``: one document with its chunks, for the eye of a person."""
