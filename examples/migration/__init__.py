"""A migration of orders to another key and shape, without downtime: see README.md."""
