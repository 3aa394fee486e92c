"""The configuration tree: defaults, layers, refusals that name the right key, fingerprint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from chunking.errors import ConfigError
from chunking.settings import PRESETS, ChunkingSettings
from jobs.config import Config, parse_budget
from jobs.config_load import load_config
from jobs.formats import FORMATS
from jobs.parsing import convert

SECTIONS = {name: type(getattr(Config(), name)) for name in Config.model_fields}


@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_every_key_is_documented(section: str) -> None:
    """Each key of each section carries a description, which `config show` prints."""
    fields = SECTIONS[section].model_fields
    assert [name for name, field in fields.items() if not field.description] == []


def test_defaults_load() -> None:
    """No file and no assignment give the defaults, and they are valid."""
    assert load_config() == Config()
    assert load_config().chunking.settings().max_tokens == 200


def test_later_layers_win(tmp_path: Path) -> None:
    """A file overrides the defaults, an assignment the file; keys beside it stay."""
    path = tmp_path / "job.yaml"
    path.write_text("chunking: {max_tokens: 150, min_tokens: 10}\noutput: {partition_by: format}\n")
    config = load_config(path, ["chunking.max_tokens=180", "source.include=['*.md', '*.txt']"])
    assert (config.chunking.max_tokens, config.chunking.min_tokens) == (180, 10)
    assert config.output.partition_by == "format"
    assert config.source.include == ("*.md", "*.txt")


@pytest.mark.parametrize("text", ["", "chunking:\n", "# only a comment\n"])
def test_an_empty_file_or_section_gives_defaults(tmp_path: Path, text: str) -> None:
    """A file without values changes nothing."""
    path = tmp_path / "job.yaml"
    path.write_text(text)
    assert load_config(path).chunking.settings() == Config().chunking.settings()


def test_a_dumped_configuration_loads_to_itself(tmp_path: Path) -> None:
    """What one run resolved can be given to the next as its file."""
    config = load_config(None, ["chunking.preset=large+", "limits.max_failed=3"])
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    assert load_config(path) == config


@pytest.mark.parametrize(
    ("assignment", "nearest"),
    [
        ("chunking.max_token=100", "chunking.max_tokens"),
        ("chunkng.max_tokens=100", "chunking.max_tokens"),
        ("model.nmae=x", "model.name"),
        ("output.partition=format", "output.partition_by"),
        ("limits.max-failed=1", "limits.max_failed"),
    ],
)
def test_an_unknown_key_gets_the_nearest_name(assignment: str, nearest: str) -> None:
    """A typing error is refused, and the message offers the key that was meant."""
    key = assignment.partition("=")[0]
    with pytest.raises(ConfigError) as caught:
        load_config(None, [assignment])
    offered = str(caught.value).partition("did you mean")[2]
    assert key in str(caught.value) or key.partition(".")[0] in str(caught.value)
    assert nearest in offered or nearest.partition(".")[0] in offered


@pytest.mark.parametrize(
    ("assignments", "named"),
    [
        (["chunking.max_tokens=many"], "chunking.max_tokens"),
        (["chunking.boundaries=clever"], "chunking.boundaries"),
        (["chunking.overlap=10"], "overlap"),
        (["chunking.boundaries=fixed", "chunking.overlap=300"], "overlap"),
        (["chunking.preset=small+", "chunking.neighbour_weight=1"], "neighbour_weight"),
        (["chunking.neighbour_weight=0.1"], "neighbour_weight"),
        (["chunking.neighbour_weight=much"], "chunking.neighbour_weight"),
        (["limits.max_failed=120%"], "limits.max_failed"),
        (["limits.max_failed=some"], "limits.max_failed"),
        (["limits.document_seconds=0"], "limits.document_seconds"),
        (["resources.parse_workers=-1"], "resources.parse_workers"),
        (["parser.pdf=standard"], "artifacts_path"),
        (["model=x"], "section.key=value"),
        (["chunking.max_tokens"], "section.key=value"),
    ],
)
def test_a_bad_value_is_named(assignments: list[str], named: str) -> None:
    """A wrong value or form is refused in one line that names the key."""
    with pytest.raises(ConfigError) as caught:
        load_config(None, assignments)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["a: b: c", "- a list", "just words", "chunking: 5", "chunking: [1]", "\x00"]
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    """Bad YAML, or YAML of another shape, gives one line."""
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", ["missing", "folder", "latin1"])
def test_an_unreadable_file_is_refused(tmp_path: Path, make: str) -> None:
    """A missing file, a folder, and bytes that are not UTF-8 name the path."""
    path = tmp_path / "job.yaml"
    if make == "folder":
        path.mkdir()
    elif make == "latin1":
        path.write_bytes("model: {name: blå}".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"job\.yaml"):
        load_config(path)


@given(st.integers(16, 5000))
def test_other_sizes_follow_a_cap_given_alone(cap: int) -> None:
    """Any cap alone gives valid settings, its target at most two thirds of it."""
    settings = load_config(None, [f"chunking.max_tokens={cap}"]).chunking.settings()
    assert settings.max_tokens == cap
    assert settings.min_tokens <= settings.target_tokens <= max(cap * 2 // 3, 1)


@given(st.integers(0, 200))
def test_the_target_follows_a_minimum_given_alone(minimum: int) -> None:
    """A minimum up to the cap is kept, and the target is raised to it."""
    settings = load_config(None, [f"chunking.min_tokens={minimum}"]).chunking.settings()
    assert settings.min_tokens == minimum
    assert minimum <= settings.target_tokens <= settings.max_tokens


def test_sizes_given_together_are_not_touched() -> None:
    """Three sizes that fit together come back as they are."""
    sizes = {"max_tokens": 300, "min_tokens": 5, "target_tokens": 290}
    settings = load_config(
        None, [f"chunking.{k}={v}" for k, v in sizes.items()]
    ).chunking.settings()
    assert {name: getattr(settings, name) for name in sizes} == sizes


@pytest.mark.parametrize(
    ("text", "n_documents", "allowed"),
    [("5%", 200, 10.0), ("0", 10, 0.0), ("0%", 10, 0.0), ("7", 10, 7.0), (" 12.5% ", 8, 1.0)],
)
def test_budget(text: str, n_documents: int, allowed: float) -> None:
    """A percentage is of the documents, a plain number is itself."""
    assert parse_budget(text, n_documents) == allowed


@pytest.mark.parametrize("text", ["", "%", "-1", "nan", "inf", "1e400", "101%", "5 %%", "five"])
def test_budgets_that_make_no_sense_are_refused(text: str) -> None:
    """Neither a number nor a percentage up to a hundred."""
    with pytest.raises(ConfigError, match="max_failed"):
        parse_budget(text, 10)


AFFECTS_OUTPUT = [
    "chunking.max_tokens=150",
    "chunking.preset=large",
    "chunking.threshold=90",
    "model.name=other",
    "model.passage_prompt='passage: '",
    "model.dtype=bfloat16",
    "output.dtype=float16",
    "output.sentence_dtype=float32",
    "limits.document_pages=5",
]
LEAVES_OUTPUT = [
    "chunking.preset=small",
    "chunking.max_tokens=200",
    "limits.max_failed=10",
    "limits.document_seconds=5",
    "model.batch_tokens=100",
    "model.device=cpu",
    "resources.parse_workers=7",
    "source.exclude=['*.tmp']",
]


def test_the_fingerprint_covers_what_affects_output() -> None:
    """Each such key alone changes the fingerprint, and no two changes look alike."""
    made = {load_config(None, [a]).fingerprint("r1") for a in AFFECTS_OUTPUT}
    made |= {Config().fingerprint("r1"), Config().fingerprint("r2")}
    assert len(made) == len(AFFECTS_OUTPUT) + 2


@pytest.mark.parametrize("assignment", LEAVES_OUTPUT)
def test_the_fingerprint_leaves_out_the_rest(assignment: str) -> None:
    """Workers, limits of time, and a default spelt out re-process nothing."""
    assert load_config(None, [assignment]).fingerprint("r") == Config().fingerprint("r")


def test_the_tree_is_frozen() -> None:
    """No key can be changed after loading."""
    config: Any = Config()
    with pytest.raises(ValidationError, match="frozen"):
        config.chunking.max_tokens = 5
    assert all(issubclass(section, BaseModel) for section in SECTIONS.values())


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_is_what_it_says(preset: str) -> None:
    """Where no size is given, nothing of a preset is scaled."""
    config = Config.model_validate({"chunking": {"preset": preset}})
    assert config.chunking.settings() == ChunkingSettings(**PRESETS[preset])  # type: ignore[arg-type]


OVERRIDES = [
    {"glob": "contracts/**", "format": "pdf", "boundaries": "optimal", "threshold": 80},
    {"glob": "contracts/**", "max_tokens": 100},
    {"glob": "*.log", "boundaries": "fixed", "overlap": 10, "vectors": "none"},
    {"format": "md", "preset": "large"},
]


@pytest.mark.parametrize(
    ("key", "file_format", "expected"),
    [
        ("contracts/a/b.pdf", "pdf", {"boundaries": "optimal", "threshold": 80, "max_tokens": 150}),
        ("contracts/a/b.txt", "txt", {"boundaries": "recursive", "max_tokens": 100}),
        ("deep/er/x.log", "txt", {"boundaries": "fixed", "overlap": 10, "vectors": "none"}),
        ("notes/readme", "md", {"max_tokens": 400, "boundaries": "recursive", "overlap": 5}),
        ("notes/readme", "txt", {"max_tokens": 150, "boundaries": "recursive", "overlap": 5}),
    ],
)
def test_the_first_override_that_matches_is_taken(
    key: str, file_format: str, expected: dict[str, object]
) -> None:
    """A document gets the section's settings, changed by one override at the most."""
    config = Config.model_validate(
        {
            "chunking": {
                "boundaries": "recursive",
                "max_tokens": 150,
                "overlap": 5,
                "overrides": OVERRIDES,
            }
        }
    )
    settings = config.chunking.settings(key, file_format)
    assert {name: getattr(settings, name) for name in expected} == expected


def test_keys_that_mean_nothing_to_the_strategy_of_an_override_are_left_behind() -> None:
    """The overlap and the size in characters of the section do not forbid another strategy."""
    given = {"boundaries": "fixed", "overlap": 20, "target_chars": 700}
    override = {"format": "pdf", "boundaries": "optimal"}
    config = Config.model_validate({"chunking": {**given, "overrides": [override]}})
    settings = config.chunking.settings("a", "pdf")
    assert (settings.boundaries, settings.overlap, settings.target_chars) == ("optimal", 0, None)


@pytest.mark.parametrize("vectors", ["late", "chunk", "none"])
@pytest.mark.parametrize("given_weight", [{}, {"neighbour_weight": 0.3}])
def test_neighbours_are_left_behind_where_an_override_blends_nothing(
    vectors: str, given_weight: dict[str, float]
) -> None:
    """Neither the share of the preset nor that of the section forbids other vectors."""
    section = {"preset": "small+", **given_weight}
    overrides = [
        {"format": "pdf", "vectors": vectors},
        {"format": "md", "preset": "large"},
        {"format": "html", "max_tokens": 150},
    ]
    config = Config.model_validate({"chunking": {**section, "overrides": overrides}}).chunking
    found = [config.settings("a", name).neighbour_weight for name in ("pdf", "md", "html")]
    assert found == [0.0, 0.0, config.settings().neighbour_weight]
    assert config.settings().neighbour_weight == (given_weight.get("neighbour_weight") or 0.2)


def test_the_neighbours_of_a_preset_are_for_its_own_vectors() -> None:
    """Other vectors given beside a preset that blends take no share; one that is given stays."""
    config = load_config(None, ["chunking.preset=small+", "chunking.vectors=chunk"])
    assert config.chunking.settings().neighbour_weight == 0
    with pytest.raises(ConfigError, match="neighbour_weight"):
        load_config(
            None,
            ["chunking.preset=small+", "chunking.vectors=chunk", "chunking.neighbour_weight=0.1"],
        )


def test_neighbours_are_part_of_the_fingerprint() -> None:
    """Another share gives other vectors, so documents are to be done again."""
    prints = {
        load_config(
            None, ["chunking.preset=small+", f"chunking.neighbour_weight={weight}"]
        ).fingerprint("r")
        for weight in (0, 0.1, 0.2)
    }
    assert len(prints) == 3


@given(st.integers(16, 1000), st.sampled_from(["small", "large"]), st.integers(0, 100))
def test_any_cap_of_an_override_fits_the_sizes_of_the_section(
    cap: int, preset: str, minimum: int
) -> None:
    """Sizes of the section give way to a cap that an override gives."""
    config = Config.model_validate(
        {
            "chunking": {
                "preset": preset,
                "min_tokens": minimum,
                "overrides": [{"format": "pdf", "max_tokens": cap}],
            }
        }
    )
    assert config.chunking.settings("a", "pdf").max_tokens == cap


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ("[{threshold: 90}]", "glob or a format"),
        ("[{format: pdff, threshold: 90}]", "'pdf'"),
        (
            "[{format: pdf}, {format: md, treshold: 90}]",
            "entry 2 of chunking.overrides.*'threshold'",
        ),
        ("[{glob: 'a[z-a]', threshold: 90}]", "a\\[z-a\\]"),
        ("[{format: pdf, threshold: 101}]", "percentile"),
        ("[{format: pdf, overlap: 5}]", "overlap"),
        ("{format: pdf}", "list of entries"),
        ("[5]", "list of entries"),
        ("[{format: pdf, boundaries: semantics}]", "boundaries"),
    ],
)
def test_overrides_that_cannot_work_are_refused(entries: str, told: str) -> None:
    """A wrong override is refused before anything is read, with the right name."""
    with pytest.raises(ConfigError, match=told):
        load_config(None, [f"chunking.overrides={entries}"])


def test_overrides_are_part_of_the_fingerprint_and_of_the_record() -> None:
    """A changed override is a changed configuration, and a dataset says what each means."""
    plain = load_config()
    other = load_config(None, ["chunking.overrides=[{format: pdf, threshold: 80}]"])
    assert plain.fingerprint("r") != other.fingerprint("r")
    assert "overrides" not in plain.chunking.facts()
    (entry,) = other.chunking.facts()["overrides"]
    assert (entry["format"], entry["glob"], entry["threshold"]) == ("pdf", None, 80)
    assert entry["max_tokens"] == 200


def test_formats_are_those_that_have_a_reader() -> None:
    """The names that an override may give are the formats that are read."""
    assert {*convert._READERS, "pdf"} == FORMATS
