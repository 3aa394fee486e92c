"""What a parser's settings ask for is made sure of, before a job writes anything."""

from __future__ import annotations

from jobs.config import Config
from jobs.parsing.hook import fix_hook
from jobs.parsing.ocr import fix_ocr

__all__ = ["fix_parser"]


def fix_parser(config: Config) -> Config:
    """Return the configuration with what ``auto`` finds here and the version of the hook.

    Raises:
        ConfigError: a hook, an OCR engine or docling's weights are asked for and cannot be
            used.
    """
    config = fix_ocr(fix_hook(config))
    parser = config.parser
    if parser.artifacts_path is not None and parser.pdf != "fast":
        from jobs.parsing.pdf.standard import check_weights  # noqa: PLC0415 - imports docling

        check_weights(parser)
    return config
