"""Tables of the command line: columns on a terminal, one plain line per row elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

LONG = "arn:" + "x" * 300
PRINT = f"""
from faradisc.cli.tables import print_table
print_table(("name", "size", "arn"), [("a [b]", "1,000", "{LONG}"), ("bb", "2", "y")], right=("size",))
"""


def test_piped_table_has_no_colour_no_header_and_no_truncated_value() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "xterm-256color"}
    run = [sys.executable, "-c", PRINT]
    printed = subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout
    assert printed == f"a [b]  1,000  {LONG}\nbb         2  y\n"


def test_table_on_a_terminal_has_a_header_and_wraps_long_values() -> None:
    reader, writer = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
    run = [sys.executable, "-c", PRINT]
    subprocess.run(run, stdin=subprocess.DEVNULL, stdout=writer, check=True, env=environment)
    os.close(writer)
    printed = os.read(reader, 100_000).decode()
    os.close(reader)
    assert "name" in printed and "size" in printed and "\x1b[1m" in printed
    assert printed.count("x") == LONG.count("x")
    assert "…" not in printed
