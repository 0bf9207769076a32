"""Numbers as text: grammar, normal form, sizes, arithmetic, encodings.

Sources: limits.md section 2; capacity.md section 2.1; capacity-consumption.md section 1.
"""

from __future__ import annotations

import pytest

from faradisc.model.values import number

NINES = "9" * 38

NORMAL = {
    "0": "0",
    "-0": "0",
    "+0.0": "0",
    "0e125": "0",
    "0.0e126": "0",
    "0e-130": "0",
    "0.00e127": "0",
    "00": "0",
    "1": "1",
    "+1": "1",
    "-1": "-1",
    "007": "7",
    "1.": "1",
    ".1": "0.1",
    "-.10": "-0.1",
    "1.500": "1.5",
    "0042.1200": "42.12",
    "1e0": "1",
    "1E+2": "100",
    "1e-2": "0.01",
    "12.5e1": "125",
    "1e0000000000000000000000002": "100",
    "0.00012e4": "1.2",
    NINES: NINES,
    f"-{NINES}": f"-{NINES}",
    "1E125": "1" + "0" * 125,
    "9.9999999999999999999999999999999999999E+125": NINES + "0" * 88,
    "1E-130": "0." + "0" * 129 + "1",
    f"{NINES}e-167": "0." + "0" * 129 + NINES,
    "100000000000000000000000000000000000000000": "1" + "0" * 41,
}


@pytest.mark.parametrize(("text", "normal"), NORMAL.items())
def test_normal_form(text: str, normal: str) -> None:
    assert number.parse(text) == normal
    assert number.parse(normal) == normal


REJECTED = {
    number.NotANumber: [
        *("", " ", "a", "1a", "a1", "-", "+", ".", "-.", "e1", "1e", "1e+", "1e-", "1e1.0", "1..2", "1.2.3"),
        *("--1", "+-1", "1-", "0x1", "1_0", "1,0", "NaN", "nan", "inf", "Infinity", "-Infinity", " 1", "1 "),
        *("1\n", "\t1", "１", "١٢", "²", "1e١", "1e 1", "1 e1"),
    ],
    number.Overflow: [
        "0e126",
        "-0e126",
        "00e126",
        "0e99999999999",
        "1e126",
        "-1e126",
        "10e125",
        "0.1e127",
        "1" + "0" * 126,
        "1e999999999999999",
    ],
    number.Underflow: ["1e-131", "-1e-131", "0.1e-130", "0." + "0" * 130 + "1", "1e-999999999999999"],
    number.TooManyDigits: ["1" * 39, "1." + "1" * 38, "-0." + "1" * 39, "1" + "0" * 37 + "1", NINES + ".1"],
}


@pytest.mark.parametrize(
    ("text", "error"), [(text, error) for error, texts in REJECTED.items() for text in texts]
)
def test_malformed_and_excessive_numbers_raise(text: str, error: type[number.NumberError]) -> None:
    with pytest.raises(number.NumberError) as caught:
        number.parse(text)
    assert type(caught.value) is error


SIZES = {
    # Captured and measured values (capacity-consumption.md section 1, capacity.md section 2.1).
    "0": 1,
    "-0": 1,
    "1": 2,
    "12": 2,
    "123": 3,
    "1234": 3,
    "12345": 4,
    "123456": 4,
    "1234567": 5,
    "12345678": 5,
    "123456789": 6,
    "1234567890": 6,
    "12345678901": 7,
    "123456789012": 7,
    "1234567890123456789": 11,
    "1" * 38: 20,
    "0042": 2,
    "100": 2,
    "1010": 3,
    "0.0000001": 2,
    "1E125": 2,
    "1E-100": 2,
    "1.5": 3,
    "1.2": 3,
    "1.200": 3,
    "1.234": 4,
    "3.14159": 5,
    "100.5": 4,
    "0.15": 2,
    "15": 2,
    "-42": 3,
    "-12345": 5,
    "-1E125": 3,
    "-0.15": 3,
    "-1": 3,
    "-12": 3,
    "12.34": 3,
    "00012.3400": 3,
    "1E+125": 2,
    "1E-130": 2,
    "0.01": 2,
    "0.0100": 2,
    "300": 2,
    "-300": 3,
    # The pairing rule's own: digits not aligned to pairs (from an open emulator, not measured).
    "120": 3,
    "0.012": 3,
}


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_sizes(text: str, size: int) -> None:
    assert number.size_bytes(number.parse(text)) == size


SUMS = [
    ("1", "1", "2"),
    ("0.1", "0.2", "0.3"),
    ("-1", "1", "0"),
    ("99", "1", "100"),
    (NINES, "-1", NINES[:-1] + "8"),
    ("1E125", "-1E125", "0"),
    ("1E-130", "1E-130", "0." + "0" * 129 + "2"),
    ("123456789.987654321", "0.000000009", "123456789.98765433"),
]


@pytest.mark.parametrize(("left", "right", "total"), SUMS)
def test_sums_and_differences(left: str, right: str, total: str) -> None:
    first, second = number.parse(left), number.parse(right)
    assert number.add(first, second) == total
    assert number.add(second, first) == total
    assert number.subtract(total, second) == first


@pytest.mark.parametrize(
    ("left", "right", "error"),
    [
        ("9E125", "1E125", number.Overflow),
        ("-9E125", "-1E125", number.Overflow),
        (NINES, "1E-1", number.TooManyDigits),
        ("1E125", "1E-130", number.TooManyDigits),
        ("1.1E-130", "-1E-130", number.Underflow),
    ],
)
def test_sums_that_cannot_be(left: str, right: str, error: type[number.NumberError]) -> None:
    with pytest.raises(error):
        number.add(number.parse(left), number.parse(right))


ENCODINGS = {
    # exponent byte 193 + floor(exponent / 2), pairs plus one; negative: inverted, 101 minus pair, 102
    "0": "80",
    "1": "c102",
    "10": "c10b",
    "99": "c164",
    "100": "c202",
    "0.01": "c002",
    "0.1": "c00b",
    "123.45": "c202182e",
    "-1": "3e6466",
    "-100": "3d6466",
    "-0.01": "3f6466",
}


@pytest.mark.parametrize(("text", "encoded"), ENCODINGS.items())
def test_ordered_encoding(text: str, encoded: str) -> None:
    assert number.encode_ordered(text).hex() == encoded
    assert number.decode_ordered(bytes.fromhex(encoded)) == text


def test_comparison() -> None:
    ordered = [
        number.parse(text) for text in ("-1E125", "-100", "-9", "-0.5", "0", "1E-130", "9", "10", "1E125")
    ]
    for low, left in enumerate(ordered):
        for high, right in enumerate(ordered):
            assert number.compare(left, right) == (low > high) - (low < high)
