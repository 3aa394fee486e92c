"""Adapters: the only modules that know a particular engine, store, parser or model."""
