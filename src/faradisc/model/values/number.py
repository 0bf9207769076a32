"""38-digit decimal numbers: parse, normalise, add, compare, encode in sorting order.

In memory a number is its canonical text, the form that the service returns: plain decimal, no exponent, no
leading zeros, no trailing zeros of the fraction, `0` for every zero. Equal numbers have equal texts.

The ordered encoding is the one of Oracle's NUMBER: an exponent byte (base 100, aligned to the decimal point)
and base-100 digits plus one; a negative number has the exponent inverted, its digits subtracted from 101, and
a final 102. The encodings, compared as unsigned bytes, sort as the numbers do. The service counts the length
of this encoding as the size of a number.

Sources: grammar and range, limits.md section 2; sizes, capacity.md section 2.1.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal

from faradisc.limits import NUMBER_DIGITS_MAX, NUMBER_EXPONENT_MAX, NUMBER_EXPONENT_MIN


class NumberError(ValueError):
    """A text that cannot be stored as a number."""


class NotANumber(NumberError):
    """The text does not follow the grammar of numbers."""


class Overflow(NumberError):
    """The magnitude is 1E+126 or larger."""


class Underflow(NumberError):
    """The magnitude is smaller than 1E-130 and not zero."""


class TooManyDigits(NumberError):
    """More than 38 significant digits."""


_GRAMMAR = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?)0*([0-9]*))?")
_EXPONENT_TEXT_MAX = 9
_EXACT = Context(prec=600)


def parse(text: str) -> str:
    """Returns the canonical form of a number as a client wrote it.

    Raises NotANumber, Overflow, Underflow or TooManyDigits. Range is checked before precision.
    """
    return text if plain_size(text) else _parse_any(text)


def _parse_any(text: str) -> str:
    match = _GRAMMAR.fullmatch(text)
    if match is None or text[-1] in "eE+-":
        raise NotANumber(text)
    sign, whole, fraction, bare_fraction, exponent_sign, exponent_digits = match.groups()
    whole = whole or ""
    fraction = fraction or bare_fraction or ""
    exponent = _exponent(exponent_sign, exponent_digits)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        _check_exponent(exponent - len(fraction))  # as though the last digit were 1
        return "0"
    point = exponent + len(whole) - (len(whole) + len(fraction) - len(digits))
    digits = digits.rstrip("0")
    _check_exponent(point - 1)
    if len(digits) > NUMBER_DIGITS_MAX:
        raise TooManyDigits(text)
    return _plain(sign == "-", digits, point)


_INT: int = 2**31 - 1
"""Java's largest int."""


def reads_as_big_decimal(text: str) -> bool:
    """Returns whether Java's BigDecimal reads a number of the grammar: exponent and scale are ints."""
    exponent, scale, _ = _big_decimal(text)
    return all(-_INT - 1 <= each <= _INT for each in (exponent, scale))


def overflows_big_decimal(text: str) -> bool:
    """Returns whether the exponent of a number's first digit, counted from its scale, is no int."""
    _, scale, precision = _big_decimal(text)
    return precision - scale + 1 > _INT


def _big_decimal(text: str) -> tuple[int, int, int]:
    """Returns exponent, scale and precision of a number of the grammar."""
    match = _GRAMMAR.fullmatch(text)
    assert match is not None
    _, whole, fraction, bare_fraction, sign, digits = match.groups()
    fraction = fraction or bare_fraction or ""
    exponent = int((digits or "0")[:11])  # eleven digits are no int
    if sign == "-":
        exponent = -exponent
    return exponent, len(fraction) - exponent, len(((whole or "") + fraction).lstrip("0")) or 1


def _exponent(sign: str | None, digits: str | None) -> int:
    if not digits:
        return 0
    if len(digits) > _EXPONENT_TEXT_MAX:
        digits = "9" * _EXPONENT_TEXT_MAX
    return -int(digits) if sign == "-" else int(digits)


def _check_exponent(exponent: int) -> None:
    if exponent > NUMBER_EXPONENT_MAX:
        raise Overflow
    if exponent < NUMBER_EXPONENT_MIN:
        raise Underflow


def _plain(negative: bool, digits: str, point: int) -> str:
    """Returns digits with the decimal point after the first `point` of them, without an exponent."""
    if point >= len(digits):
        body = digits + "0" * (point - len(digits))
    elif point <= 0:
        body = "0." + "0" * -point + digits
    else:
        body = digits[:point] + "." + digits[point:]
    return "-" + body if negative else body


def _from_decimal(value: Decimal) -> str:
    if not value:
        return "0"  # whatever its exponent
    return parse(format(value, "f") if value.adjusted() < 400 else str(value))


_SHORT = 17
"""Integers with fewer characters add up to at most 17 digits: no limit is near."""


def add(left: str, right: str) -> str:
    """Returns the exact sum of two canonical numbers. Raises Overflow, Underflow or TooManyDigits."""
    if len(left) < _SHORT and len(right) < _SHORT and "." not in left and "." not in right:
        return str(int(left) + int(right))
    return _from_decimal(_EXACT.add(Decimal(left), Decimal(right)))


def subtract(left: str, right: str) -> str:
    """Returns the exact difference of two canonical numbers. Raises as `add` does."""
    if len(left) < _SHORT and len(right) < _SHORT and "." not in left and "." not in right:
        return str(int(left) - int(right))
    return _from_decimal(_EXACT.subtract(Decimal(left), Decimal(right)))


def sort_key(text: str) -> Decimal:
    """Returns a Python value that sorts as the number does."""
    return Decimal(text)


def compare(left: str, right: str) -> int:
    """Returns -1, 0 or 1 as the left number is smaller than, equal to or larger than the right one."""
    if left == right:
        return 0
    return -1 if Decimal(left) < Decimal(right) else 1


def _scientific(text: str) -> tuple[bool, str, int]:
    """Returns whether a canonical number is negative, its significant digits, and the first one's exponent.

    Requires: not zero.
    """
    negative = text[0] == "-"
    if negative:
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if whole == "0":
        digits = fraction.lstrip("0")
        return negative, digits, len(digits) - len(fraction) - 1
    digits = (whole + fraction).rstrip("0")
    return negative, digits, len(whole) - 1


def plain_size(text: str) -> int:
    """Returns the bytes of a canonical number of at least 1, as most numbers are; 0 for any other text."""
    if text.isascii() and len(text) <= NUMBER_DIGITS_MAX:  # other scripts have digits too
        # A byte for the exponent, one for each two digits aligned to the decimal point.
        if text.isdigit():
            return (len(text.rstrip("0")) + 3 + len(text) % 2) // 2 if text[0] != "0" else 0
        whole, _, fraction = text.partition(".")
        if whole.isdigit() and fraction.isdigit() and whole[0] != "0" and fraction[-1] != "0":
            return (len(text) + 2 + len(whole) % 2) // 2
    return 0


def size_bytes(text: str) -> int:
    """Returns the bytes that the service counts for a canonical number: 1 for zero, otherwise 2 to 22."""
    size = plain_size(text)
    if size or text == "0":
        return size or 1
    negative, digits, exponent = _scientific(text)
    return (len(digits) + 4 - exponent % 2) // 2 + negative


_ZERO = b"\x80"


def encode_ordered(text: str) -> bytes:
    """Returns the ordered encoding of a number, 1 to 22 bytes.

    Not prefix-free among positive numbers; codec/sortkey.py adds a terminator.
    """
    if text == "0":
        return _ZERO
    negative, digits, exponent = _scientific(text)
    if exponent % 2 == 0:
        digits = "0" + digits
    if len(digits) % 2:
        digits += "0"
    pairs = [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]
    exponent_byte = exponent // 2 + 193
    if negative:
        return bytes([255 - exponent_byte, *(101 - pair for pair in pairs), 102])
    return bytes([exponent_byte, *(pair + 1 for pair in pairs)])


def decode_ordered(encoded: bytes) -> str:
    """Returns the canonical number of an encoding by `encode_ordered`."""
    if encoded == _ZERO:
        return "0"
    negative = encoded[0] < 0x80
    if negative:
        exponent_byte = 255 - encoded[0]
        pairs = [101 - byte for byte in encoded[1:-1]]
    else:
        exponent_byte = encoded[0]
        pairs = [byte - 1 for byte in encoded[1:]]
    digits = "".join(f"{pair:02d}" for pair in pairs)
    point = (exponent_byte - 193) * 2 + 2
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return _plain(negative, stripped.rstrip("0"), point)
