"""The blocks of a Terraform configuration, as python-hcl2 or JSON has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from faradisc.tools.readers.seed import SeedError, parsed_json

NEEDS_HCL = "reading .tf needs python-hcl2: pip install 'faradisc[seed]' (.tf.json is read without it)"
_HEREDOC = re.compile(r"<<-?\s*\"?(\w+)\"?\s*$")
_BLOCK = re.compile(
    r"(resource|data|ephemeral|variable|locals|module|provider|output|terraform|moved|import|check|removed)\b"
)
_TABLE = re.compile(r'resource\s+"aws_dynamodb_')


def bodies(block: Any) -> list[Mapping[str, Any]]:
    """Returns the bodies of a kind of block: a list in .tf, perhaps one body in .tf.json."""
    found = block if isinstance(block, list) else [block]
    return [each for each in found if isinstance(each, Mapping)]


def labelled(block: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns (label, body) of labelled blocks, also of several with one label."""
    return [
        (str(name), body)
        for labels in bodies(block)
        for name, each in labels.items()
        for body in bodies(each)
    ]


@lru_cache(64)
def configuration_of(text: str, file: str) -> tuple[Mapping[str, Any], tuple[tuple[int, str], ...]]:
    """Returns the blocks of a .tf or .tf.json file, not to be changed, and (line, note) of those that are not
    valid and no tables. Raises SeedError with the line for a table that is not valid, and for other JSON."""
    try:
        return parsed(text, file), ()
    except SeedError:
        if file.endswith(".json"):
            raise
    return _one_by_one(_blocks(text), file)


def _one_by_one(
    blocks: list[tuple[int, str]], file: str
) -> tuple[dict[str, Any], tuple[tuple[int, str], ...]]:
    """Reads each block by itself, so that a mistake in another one hides no table."""
    document: dict[str, Any] = {}
    notes = []
    for line, block in blocks:
        try:
            for kind, found in parsed(block, file).items():
                document.setdefault(kind, []).extend(found if isinstance(found, list) else [found])
        except SeedError as error:
            where = line + (error.line or 1) - 1
            if _TABLE.match(block) or error.text == NEEDS_HCL:
                raise SeedError(error.text, where) from None
            notes.append((where, f"a block without a table is ignored: {error.text}"))
    return document, tuple(notes)


def parsed(text: str, file: str) -> Mapping[str, Any]:
    """Returns the blocks or arguments of a file. Raises SeedError with the line."""
    if file.endswith(".json"):
        document = parsed_json(text)
        if not isinstance(document, Mapping):
            raise SeedError("a configuration in JSON must be an object.", 1)
        return document
    try:
        import hcl2  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise SeedError(NEEDS_HCL, 1) from error
    options = hcl2.SerializationOptions(
        with_comments=False, explicit_blocks=False, preserve_heredocs=False, strip_string_quotes=True
    )
    try:
        loaded: Mapping[str, Any] = hcl2.loads(_normalised(text), serialization_options=options)
    except RecursionError:
        raise
    except Exception as error:  # several types, of hcl2 and of its parser
        reason = str(error).partition("\n")[0]
        line = getattr(error, "line", 1)
        raise SeedError(
            f"not valid Terraform: {reason}",
            line if isinstance(line, int) and line > 0 else text.count("\n") + 1,
        ) from error
    return loaded


def _normalised(text: str) -> str:
    """Returns a text without blanks after the end markers of heredocs, which Terraform allows."""
    lines, marker = text.split("\n"), None
    for at, line in enumerate(lines):
        if marker is None:
            found = _HEREDOC.search(line)
            marker = found[1] if found is not None else None
            lines[at] = line.rstrip() if found is not None else line
        elif line.strip() == marker:
            lines[at], marker = line.rstrip(), None
    return "\n".join(lines) + "\n"


def _blocks(text: str) -> list[tuple[int, str]]:
    """Returns (line, text) of the blocks that begin at the beginning of a line."""
    lines, marker, starts = text.split("\n"), None, [0]
    for at, line in enumerate(lines):
        if marker is not None:
            marker = None if line.strip() == marker else marker
            continue
        found = _HEREDOC.search(line)
        marker = found[1] if found is not None else None
        if _BLOCK.match(line) and at:
            starts.append(at)
    ends = [*starts[1:], len(lines)]
    return [(begin + 1, "\n".join(lines[begin:end])) for begin, end in zip(starts, ends, strict=True)]
