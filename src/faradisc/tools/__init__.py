"""Tools built on the database or its parts: planner, stream consumers, seeding, transfer. No engine module
imports them."""
