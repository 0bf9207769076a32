"""Reads the images that changes are evaluated against."""

from __future__ import annotations

from collections.abc import Sequence

from faradisc.engine.tables.change import Change, Image
from faradisc.storage.api import Store


async def read_images(store: Store, changes: Sequence[Change], *, loose: bool = False) -> list[Image]:
    """Returns the old images, as of one moment, in the order of the changes.

    loose: those of different parts may be of different moments. On an embedded store nothing is written
    between the reads of the parts.
    Raises ResourceNotFoundException for a table that has been deleted meanwhile; Stale.
    """
    by_part: dict[bytes, list[int]] = {}
    for position, change in enumerate(changes):
        if change.table.successor is not None:
            change.follow_table()
        by_part.setdefault(change.part, []).append(position)
    if store.shared and len(by_part) > 1:
        epochs = {change.part: change.table.epoch for change in changes}
        found = await store.read_many([change.location for change in changes], epochs=epochs, loose=loose)
        return [Image(row) for row in found]
    images: list[Image | None] = [None] * len(changes)
    for part, positions in by_part.items():
        keys, epoch = [changes[i].row_key for i in positions], changes[positions[0]].table.epoch
        rows = await store.get(part, keys, for_update=True, epoch=epoch)
        for position, row in zip(positions, rows, strict=True):
            images[position] = Image(row)
    return [image for image in images if image is not None]
