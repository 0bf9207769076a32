"""The pages of the console; importing one registers it."""

from importlib import import_module

from faradisc.tools.console import frame

PAGES = (
    "start",
    "tables",
    "overview",
    "items",
    "design",
    "stream",
    "throughput",
    "backups",
    "partiql",
    "operations",
    "advice",
    "servers",
    "key",
)


def register() -> None:
    """Registers every page."""
    for name in PAGES:
        import_module(f"{__package__}.{name}")
    frame.register()
