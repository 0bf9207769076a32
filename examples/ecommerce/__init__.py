"""A shop for many tenants in one table: see README.md."""
