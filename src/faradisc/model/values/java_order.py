"""The order in which Java's hash tables list what they hold: number sets and maps in the service's texts.

A table of n buckets, doubled when more than three quarters are taken, lists bucket by bucket, each in the
order of insertion. The least n is 16 for sets of numbers and 4 for maps of names, which are made to size.

Source: errors.md section 11, recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

_Member = TypeVar("_Member")
SET_BUCKETS_MIN = 16
MAP_BUCKETS_MIN = 4
_WORD = 0xFFFFFFFF


def listed(members: Sequence[_Member], hash_of: Callable[[_Member], int], buckets: int) -> list[_Member]:
    """Returns distinct members, given as they are inserted, in the order of a HashSet or HashMap.

    buckets: the least number.
    """
    while len(members) > buckets * 3 // 4:
        buckets *= 2

    def bucket(member: _Member) -> int:
        code = hash_of(member) & _WORD
        return (code ^ code >> 16) & (buckets - 1)

    return sorted(members, key=bucket)


def text_hash(text: str) -> int:
    """Returns String.hashCode, over the code units of UTF-16."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & _WORD
    return code


def number_hash(text: str) -> int:
    """Returns BigDecimal.hashCode of a canonical number without trailing zeros."""
    whole, _, fraction = text.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    scale = len(fraction) - (len(digits) - len(significant)) if digits else 0
    magnitude, code = int(significant or "0"), 0
    for shift in range(magnitude.bit_length() // 32 * 32, -1, -32):
        code = (31 * code + (magnitude >> shift & _WORD)) & _WORD
    return 31 * (-code if text[0] == "-" else code) + scale


NUMBER_SET = b'{"NS":['
_NUMBER_SET = re.compile(rb'(?<=\{"NS":\[)[^\]]*')


def with_hashed_number_sets(document: bytes) -> bytes:
    """Returns compact JSON with every number set in hash order.

    Its strings cannot contain `{"NS":[`, because they escape quotation marks.
    """
    return _NUMBER_SET.sub(lambda found: _hashed(found[0]), document)


def _hashed(members: bytes) -> bytes:
    numbers = members.decode().replace('"', "").split(",")
    return ",".join([f'"{number}"' for number in listed(numbers, number_hash, SET_BUCKETS_MIN)]).encode()
