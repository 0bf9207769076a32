"""Files of Parquet and Arrow."""

from __future__ import annotations

import os
from pathlib import Path

from faradisc.frames.reading import TableReading, arrow
from faradisc.frames.shaping import Nested, Numbers


def write(reading: TableReading, path: Path, *, parquet: bool, numbers: Numbers, nested: Nested) -> None:
    """Writes a reading as a file of Parquet, or of Arrow (IPC, also called Feather 2). The file has its name
    when it is complete. Raises OSError."""
    pa = arrow()
    reader = reading.reader(numbers, nested)
    draft = path.with_name(path.name + ".new")
    try:
        if parquet:
            import pyarrow.parquet as library  # noqa: PLC0415 - an extra

            with library.ParquetWriter(draft, reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)
        else:
            with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
