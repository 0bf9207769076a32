"""Lines of DynamoDB JSON straight into rows of a table that is being filled: one pass, no item in between.

Not line by line but a block of some hundred lines at a time: one call of a regular expression takes all of
them apart, and what is left to do is done for a column of contents in one go. Measured, that takes a third of
the time that one line after the other does.

A stencil is cut from a line whose item the careful way takes (checking.py, engine/tables/loading.py), and
widened by others that are like it but for optional attributes (row_forms.py). Whatever fits it has
attributes of known types under known names; so what is left of all checks is this:

    strings    UTF-8, and only escapes that the stored JSON has too
    numbers    in canonical form: others fit no hole
    keys       not empty and not too long: the holes say how long
    sets, binaries    given to the careful checks, one by one
    the item   not too large

Sizes need no walk either: an attribute's JSON is longer than the attribute by what it was in the line that it
was cut from, but for contents that do not count by their length, such as numbers. The stored record is the
line's text, attributes in the order of the record. tests/exchange/test_row_stencils.py holds all of it to the
careful way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, groupby, repeat
from operator import add, sub
from typing import Any

import orjson

from faradisc.engine.exchange import stencils
from faradisc.engine.exchange.checking import checked_item
from faradisc.engine.exchange.row_forms import (
    ESCAPES,
    GROUPS_MAX,
    HEAD,
    TAIL,
    Form,
    Grows,
    Kept,
    Shape,
    escapes,
    form_of,
    merged,
    pattern_of,
)
from faradisc.engine.tables.loading import Entry, LoadedRow, Rows, row_of
from faradisc.engine.tables.table import Table
from faradisc.engine.tables.writes import fitting_bytes
from faradisc.errors import ValidationException
from faradisc.limits import PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX
from faradisc.model.codec import record
from faradisc.model.codec.keyspace import Placement, hash_of
from faradisc.model.codec.sortkey import encode_component, raw_bytes
from faradisc.model.values.schema import KeySchema

STENCILS_MAX = 32
"""A line is tried with one after another."""
CUTS_PER_BLOCK = 4
COLLECTIONS_MAX = 4096
"""Whose beginnings of row keys are remembered."""
_LEAF_BYTES_MAX = 256
"""Bytes of a line for each content: where values are longer the careful way is quicker (from some 200 on)."""
_TEXT_END = b"\x00\x00"
"""Of a string in a row key (model/codec/sortkey.py)."""
_AROUND = len(HEAD) + len(TAIL) + 1
"""Bytes of a line that are no attributes, its end among them."""

Made = list[LoadedRow | bytes]
"""Of each line its row, or the line itself where it has to go the careful way."""
Column = Sequence[bytes]
"""Of one group: its contents in all lines; b"" in those that are without it."""


class _Unsure(Exception):
    """There is no stencil of such lines."""


# --- From columns to records and keys --------------------------------------------------------------


class _Layout:
    """How records are put together from columns."""

    def __init__(self, form: Form, first_of: dict[str, list[int]], names: Iterable[str]) -> None:
        """first_of: of an attribute, the first group of each of its shapes; names: those of the record."""
        slots = {slot.name: slot for slot in form.slots}
        self._texts: list[tuple[int, Shape]] = []
        self._counted: list[tuple[int, Grows]] = []
        self._constant = 1
        """What every record of these counts beside its length; with a comma for every attribute there is one
        too many."""
        self._constants: list[tuple[int, int]] = []
        """What the attributes count that are not in every line."""
        for name in sorted(names):
            sure = slots[name].sure
            for group, shape in zip(first_of[name], slots[name].shapes, strict=True):
                self._texts.append((group, shape))
                self._counted += [(group + number, grows) for number, grows in shape.counted]
                if shape is sure:
                    self._constant += shape.constant - 1
                else:
                    self._constants.append((group, shape.constant - 1))

    def bodies(self, columns: Sequence[Column]) -> list[bytes]:
        """The JSON of the records, without its braces."""
        texts = [_in_order(columns, group, shape) for group, shape in self._texts]
        if self._constants:
            return [b",".join(filter(None, each)) for each in zip(*texts, strict=True)]
        return list(map(b",".join, zip(*texts, strict=True)))

    def sizes(
        self, columns: Sequence[Column], bodies: list[bytes], lengths: Iterable[int], escaped: bool
    ) -> list[int]:
        """In bytes, as items; above ITEM_SIZE_BYTES_MAX also where a content is for the careful way.

        lengths: of the bodies; escaped: whether there are backslashes in them.
        """
        constant = self._constant
        sizes = [length + constant for length in lengths]
        for group, grows in self._counted:
            sizes = list(map(add, sizes, grows(columns[group])))
        for group, constant in self._constants:
            sizes = [
                size + constant if text else size for size, text in zip(sizes, columns[group], strict=True)
            ]
        return list(map(sub, sizes, map(escapes, bodies))) if escaped else sizes


def _in_order(columns: Sequence[Column], group: int, shape: Shape) -> Column:
    """An attribute as records have it."""
    if shape.template is None:
        return columns[group]
    template, groups = shape.template
    contents = zip(*[columns[group + number] for number in groups], strict=True)
    return [template % each if text else b"" for text, each in zip(columns[group], contents, strict=True)]


class _RowKey:
    """How row keys are put together from columns; see `Placement.row_key`."""

    def __init__(self, placement: Placement, hole_of: dict[str, int], types: dict[str, str]) -> None:
        self._hash = [(hole_of[name], types[name]) for name in placement.key.hash]
        self._tail = [(hole_of[name], types[name]) for name in placement.tail]
        self._plain = [kind for _, kind in self._hash] == ["S"]
        """The most frequent case: the HASH content is the bytes that are hashed."""
        self._all_texts = self._plain and all(kind == "S" for _, kind in self._tail)
        """Then a key is the hash and contents, each with its end."""
        self._collections = Kept(self._collection, COLLECTIONS_MAX)
        """By HASH contents: exports have the items of a collection one after another."""

    @property
    def holes(self) -> set[int]:
        return {hole for hole, _ in (*self._hash, *self._tail)}

    def of(self, columns: Sequence[Column]) -> list[bytes]:
        if self._all_texts:
            ((hole, _),) = self._hash
            beginnings = map(self._collections.__getitem__, columns[hole])
            contents = [columns[hole] for hole, _ in self._tail]
            return list(map(_TEXT_END.join, zip(beginnings, *contents, repeat(b""), strict=False)))
        hashed = [columns[hole] for hole, _ in self._hash]
        named: Sequence[Any] = hashed[0] if self._plain else list(zip(*hashed, strict=True))
        keys = list(map(self._collections.__getitem__, named))
        for hole, kind in self._tail:
            column = columns[hole]
            if kind == "S":
                keys = [key + text + _TEXT_END for key, text in zip(keys, column, strict=True)]
            else:
                keys = [key + _component(kind, text) for key, text in zip(keys, column, strict=True)]
        return keys

    def _collection(self, contents: Any) -> bytes:
        if self._plain:
            text: bytes = contents
            return hash_of(text) + text + (b"" if self._all_texts else _TEXT_END)
        components = b"".join(
            _component(kind, content) for (_, kind), content in zip(self._hash, contents, strict=True)
        )
        if len(contents) > 1:
            return hash_of(components) + components
        return hash_of(raw_bytes({self._hash[0][1]: contents[0].decode()})) + components


def _component(kind: str, content: bytes) -> bytes:
    return content + _TEXT_END if kind == "S" else encode_component({kind: content.decode()})


class _Entries:
    """The entries of one index."""

    def __init__(self, position: int, row_key: _RowKey, layout: _Layout | None, may_lack: list[int]) -> None:
        """layout: None for an index that has every attribute; may_lack: the holes of its key attributes that
        lines can be without, which then have no entry."""
        self._position = position
        self._row_key = row_key
        self._layout = layout
        self._may_lack = may_lack

    def of(
        self, columns: Sequence[Column], stored: list[bytes], sizes: list[int], escaped: bool
    ) -> Iterable[Entry | None]:
        """stored, sizes: the items'."""
        if not self._may_lack:
            return self._all(columns, stored, sizes, escaped)
        there = [all(texts) for texts in zip(*[columns[hole] for hole in self._may_lack], strict=True)]
        if not any(there):
            return repeat(None, len(stored))
        entries = self._all(
            [list(compress(column, there)) for column in columns],
            list(compress(stored, there)),
            list(compress(sizes, there)),
            escaped,
        )
        return [next(entries) if each else None for each in there]

    def _all(
        self, columns: Sequence[Column], stored: list[bytes], sizes: list[int], escaped: bool
    ) -> Iterator[Entry]:
        if self._layout is not None:
            bodies = self._layout.bodies(columns)
            sizes = self._layout.sizes(columns, bodies, map(len, bodies), escaped)
            stored = record.of_members(bodies, sizes)
        return zip(repeat(self._position), self._row_key.of(columns), stored, sizes)


# --- Stencils --------------------------------------------------------------------------------------


class RowStencil:
    """Makes rows of all lines of one form."""

    def __init__(self, form: Form, table: Table) -> None:
        """Raises: _Unsure."""
        self.form = form
        self.hits = 0
        """In this window."""
        first_of: dict[str, list[int]] = {}
        groups = 0
        for slot in form.slots:
            first_of[slot.name] = []
            for shape in slot.shapes:
                first_of[slot.name].append(groups)
                groups += shape.groups
        if groups > GROUPS_MAX:
            raise _Unsure
        always = table.key.hash[0]
        self._there = first_of[always][0]
        """The group of an attribute that no line of the form lacks."""
        # What fits not is matched by the last group, so each match is one line, and none is passed over.
        self._pattern = b"(?:" + pattern_of(form, always) + b"|([^\n]*+))\n"
        self._findalls: dict[bool, Callable[[bytes], list[tuple[bytes, ...]]]] = {}
        """For blocks with escapes and for those without, once there was one."""
        self._layout = _Layout(form, first_of, first_of)
        hole_of = {name: firsts[0] + 1 for name, firsts in first_of.items()}
        self._row_key = _RowKey(table.placement, hole_of, dict(table.key.types))
        self._fitting_bytes = fitting_bytes(table)
        optional = {hole_of[slot.name] for slot in form.slots if slot.optional}
        self._entries: list[_Entries] = []
        for position, index in enumerate(table.indexes):
            if not first_of.keys() >= {*index.schema.all_key_names}:
                continue
            row_key = _RowKey(index.placement, hole_of, {**index.schema.key.types, **table.key.types})
            names = index.schema.entry_names
            layout = None if names is None else _Layout(form, first_of, names & first_of.keys())
            self._entries.append(_Entries(position, row_key, layout, sorted(optional & row_key.holes)))

    def read(self, block: bytes) -> Rows | Made:
        """What becomes of the lines of a block, in UTF-8 and with their ends; Rows if all of them fit."""
        escaped = b"\\" in block
        found = (self._findalls.get(escaped) or self._compiled(escaped=escaped))(block)
        there = self._there
        fitting = [each for each in found if each[there]]
        if not fitting:
            return [each[-1] for each in found]
        columns = list(zip(*fitting, strict=True))
        bodies = self._layout.bodies(columns)
        lengths = list(map(len, bodies))
        length = sum(lengths) + _AROUND * len(fitting)
        if len(fitting) < len(found):
            length += sum([len(each[-1]) + 1 for each in found if not each[there]])
        if length != len(block):  # nothing of a line may be lost or there twice, whatever the pattern says
            return _lines(block)
        sizes = self._layout.sizes(columns, bodies, lengths, escaped)
        if max(sizes) > self._fitting_bytes:
            counted = iter(sizes)
            return self._without(
                block, [bool(each[there]) and next(counted) > self._fitting_bytes for each in found]
            )
        self.hits += len(fitting)
        rows = self._rows(columns, bodies, sizes, escaped)
        if len(fitting) == len(found):
            return Rows(rows)
        return [next(rows) if each[there] else each[-1] for each in found]

    def _compiled(self, *, escaped: bool) -> Callable[[bytes], list[tuple[bytes, ...]]]:
        pattern = self._pattern if escaped else self._pattern.replace(ESCAPES, b"")
        findall = self._findalls[escaped] = re.compile(pattern).findall
        re.purge()  # `re` would keep the last 512 patterns when their jobs are over: tens of megabytes
        return findall

    def _without(self, block: bytes, careful: list[bool]) -> Made:
        """The same; careful: which lines only seem to fit."""
        lines = _lines(block)
        rest = iter(self.read(_block(line for line, each in zip(lines, careful, strict=True) if not each)))
        return [line if each else next(rest) for line, each in zip(lines, careful, strict=True)]

    def _rows(
        self, columns: Sequence[Column], bodies: list[bytes], sizes: list[int], escaped: bool
    ) -> Iterator[LoadedRow]:
        stored = record.of_members(bodies, sizes)
        entries: Iterable[tuple[Entry, ...]] = repeat(())
        if self._entries:
            found = zip(*[each.of(columns, stored, sizes, escaped) for each in self._entries], strict=True)
            entries = [each if None not in each else tuple(filter(None, each)) for each in found]
        return zip(self._row_key.of(columns), stored, sizes, entries, strict=False)


def _lines(block: bytes) -> Made:
    """Without their ends."""
    return [*block.split(b"\n")[:-1]]


def _block(lines: Iterable[LoadedRow | bytes]) -> bytes:
    """Requires: they are lines all of them."""
    return b"".join([line + b"\n" for line in lines])  # type: ignore[operator]


def _limits(table: Table) -> dict[str, int]:
    """The lengths in bytes that attributes may have which are keys of the table or of an index."""
    limits: dict[str, int] = {}

    def add_key(key: KeySchema) -> None:
        for names, limit in ((key.hash, PARTITION_KEY_BYTES_MAX), (key.range, SORT_KEY_BYTES_MAX)):
            limits.update({name: min(limit, limits.get(name, limit)) for name in names})

    add_key(table.key)
    for index in table.indexes:
        add_key(index.schema.key)
    return limits


# --- A job's way through ---------------------------------------------------------------------------


class RowShortcut:
    """Rows of the lines that fit a stencil, for one table."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._limits = _limits(table)
        self._stencils: list[RowStencil] = []
        """The most frequent first."""
        self._window = stencils.Window()
        self._to_cut = 0
        """Lines that fit none until one is cut."""

    def __call__(self, block: bytes) -> Iterator[Rows | tuple[bytes, ...]]:
        """The rows of a block of DynamoDB JSON, and between them the lines that have to go the careful way,
        without blank ones. block: lines with their ends."""
        end = block.find(b"\n")
        if end > stencils.TEXT_BYTES_MAX:  # only the first one can be very long, having begun in other pieces
            yield (block[:end],)
            block = block[end + 1 :]
        made = _lines(block) if self._window.resting else self._made(block)
        self._window.passed(len(made), self._judged)
        if isinstance(made, Rows):
            yield made
            return
        for _, run in groupby(made, type):
            each = [*run]
            yield Rows(row for row in each if isinstance(row, tuple)) or tuple(
                line for line in each if line and isinstance(line, bytes)
            )

    def _made(self, block: bytes) -> Rows | Made:
        if block.isascii() or _is_utf8(block):
            return self._tried(block)
        made = _lines(block)
        good = [place for place, line in enumerate(made) if _is_utf8(line)]  # type: ignore[arg-type]
        for place, each in zip(good, self._tried(_block(made[place] for place in good)), strict=True):
            made[place] = each
        return made

    def _judged(self) -> int:
        """How many lines of the window have fitted; what few have fitted goes."""
        hits = sum(each.hits for each in self._stencils)
        self._stencils = stencils.worth_keeping(self._stencils)
        return hits

    def _tried(self, block: bytes) -> Rows | Made:
        """With one stencil after another, each gets what has fitted none before; and with new ones."""
        made: Rows | list[LoadedRow | bytes] = (
            self._stencils[0].read(block) if self._stencils else _lines(block)
        )
        if isinstance(made, Rows):
            return made
        for stencil in self._stencils[1:]:
            if not _read_on(stencil, made, _left_in(made)):
                return made
        for _ in range(CUTS_PER_BLOCK):
            left = _left_in(made)
            if len(left) <= self._to_cut:
                self._to_cut -= len(left)
                break
            line = made[left[self._to_cut]]
            self._to_cut = stencils.CUT_EVERY
            assert type(line) is bytes
            cut = self._learn(line)
            if cut is not None:
                _read_on(cut, made, left)
        return made

    def _learn(self, line: bytes) -> RowStencil | None:
        """A stencil that fits a line: a known one widened, or a new one. None when there is none."""
        try:
            document = orjson.loads(line)
            item = document["Item"]
            size = checked_item(item, self._table)
            # The same bytes again: no other members, no spaces, no name twice, nothing but canonical values.
            if orjson.dumps({"Item": item}) != line:
                return None
            form = form_of(item, self._limits)
            if len(line) > _LEAF_BYTES_MAX * sum(slot.shapes[0].leaves for slot in form.slots):
                return None
            row = row_of(self._table, item, size)
            for place, known in enumerate(self._stencils):
                wider = merged(known.form, form)
                if wider is not None:
                    stencil = RowStencil(wider, self._table)
                    stencil.hits = known.hits
                    if stencil.read(line + b"\n") != [(*row[:3], tuple(row[3]))]:
                        return None
                    self._stencils[place] = stencil
                    return stencil
            if len(self._stencils) == STENCILS_MAX:
                return None
            stencil = RowStencil(form, self._table)
            if stencil.read(line + b"\n") != [(*row[:3], tuple(row[3]))]:
                return None
            self._stencils.append(stencil)
            return stencil
        except (ValueError, TypeError, KeyError, ValidationException, _Unsure):
            return None


def _left_in(made: Made) -> list[int]:
    """The places of lines that have fitted no stencil, and are not blank."""
    return [place for place, each in enumerate(made) if each and type(each) is bytes]


def _read_on(stencil: RowStencil, made: Made, left: list[int]) -> bool:
    """Try a stencil with what is left. False when nothing is."""
    if not left:
        return False
    for place, each in zip(left, stencil.read(_block(made[place] for place in left)), strict=True):
        made[place] = each
    return True


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def shortcut_into(table: Table) -> RowShortcut | None:
    """None for a table that has none: what a vector index takes of an item is not a matter of texts."""
    return RowShortcut(table) if all(index.vectors is None for index in table.indexes) else None
