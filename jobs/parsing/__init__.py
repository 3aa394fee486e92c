"""Parsing: one file becomes canonical text and blocks, in a child that may be killed."""
