"""The job's own fetch and parse, for formats that need no docling: it is not loaded ahead."""

from __future__ import annotations

from jobs.config import Config
from jobs.meter import Report
from jobs.parsing.pool import ChildParser
from jobs.sources.base import Source
from jobs.stages.fetch_parse import FetchParse

__all__ = ["TextFetchParse"]


class TextFetchParse(FetchParse):
    """Reads each document in a killable child as the job does; the child starts in no time."""

    def __init__(self, source: Source, config: Config, report: Report, *more: object) -> None:
        folder = config.resources.tmp_dir
        parser = ChildParser(config.parser, config.limits, preload=None, tmp_dir=folder)
        parser.start()
        super().__init__(source, config, report, *more, parser=parser)


# Ray's tools, and those who look for a worker, know it by the stage's name.
TextFetchParse.__name__ = "FetchParse"
