"""Tenants on one server, kept apart by roles and policies: docs/guide/tenants.md."""
