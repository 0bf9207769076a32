"""Laws of numbers, over the whole range: parse, encode, add."""

from __future__ import annotations

from decimal import Context, Decimal

from hypothesis import given
from hypothesis import strategies as st

from faradisc.model.values import number

_EXACT = Context(prec=600)


@st.composite
def decimals(draw: st.DrawFn) -> Decimal:
    """Draws numbers that the service can store, with many edge cases."""
    digits = draw(st.text("0123456789", min_size=1, max_size=38).map(lambda text: text.lstrip("0") or "0"))
    exponent = draw(st.integers(-130, 125)) - len(digits) + 1
    sign = draw(st.sampled_from(["", "-"]))
    return Decimal(f"{sign}{digits}e{exponent}")


def storable(value: Decimal) -> bool:
    if not value:
        return True
    significant = str(value.normalize(_EXACT).as_tuple().digits)
    return -130 <= value.adjusted() <= 125 and len(significant) > 0


texts = decimals().filter(storable).map(str)
canonical = texts.map(number.parse)


@given(texts)
def test_parsing_keeps_the_value(text: str) -> None:
    parsed = number.parse(text)
    assert Decimal(parsed) == Decimal(text)
    assert "e" not in parsed.lower()
    assert number.parse(parsed) == parsed


@given(decimals().filter(storable))
def test_every_way_of_writing_a_number_gives_one_text(value: Decimal) -> None:
    plain = format(value, "f")
    ways = {plain, str(value), f"{value:E}", plain + ("0" if "." in plain else ".000")}
    if not plain.startswith("-"):
        ways |= {f"+{plain}", f"00{plain}"}
    # A zero keeps the exponent it was written with, which may be refused (limits.md section 2).
    if value:
        assert len({number.parse(way) for way in ways}) == 1


@given(canonical)
def test_encodings_read_back(text: str) -> None:
    assert number.decode_ordered(number.encode_ordered(text)) == text


@given(canonical, canonical)
def test_encodings_sort_as_numbers_do(left: str, right: str) -> None:
    first, second = number.encode_ordered(left), number.encode_ordered(right)
    order = number.compare(left, right)
    assert order == (Decimal(left) > Decimal(right)) - (Decimal(left) < Decimal(right))
    assert (first > second) - (first < second) == order
    assert (left == right) == (order == 0)


@given(canonical)
def test_the_size_is_the_length_of_the_encoding(text: str) -> None:
    assert number.size_bytes(text) == len(number.encode_ordered(text))
    assert 1 <= number.size_bytes(text) <= 22


@given(canonical, canonical)
def test_sums_are_exact_or_refused(left: str, right: str) -> None:
    exact = _EXACT.add(Decimal(left), Decimal(right))
    try:
        total = number.add(left, right)
    except number.NumberError as error:
        digits = len(exact.normalize(_EXACT).as_tuple().digits)
        too_large, too_small = exact.adjusted() > 125, exact.adjusted() < -130
        assert {number.Overflow: too_large, number.Underflow: too_small}.get(type(error), digits > 38)
        return
    assert Decimal(total) == exact
    assert number.add(right, left) == total
    assert number.subtract(total, right) == left


@given(st.text(st.sampled_from("0123456789+-.eE _xa١\n"), max_size=12))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parsed = number.parse(text)
    except number.NumberError:
        return
    assert Decimal(parsed) == Decimal(text)
