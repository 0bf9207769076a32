"""The database proper: catalog, reads, the one write path, indexes. What operations share."""
