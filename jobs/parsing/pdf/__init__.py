"""PDF: a layout engine that needs no weights, and docling's own pipeline when asked for."""
