"""Readers, one module per format: what docling loses or cannot read is mended here."""
