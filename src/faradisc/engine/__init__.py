"""The database engine: everything that stores, changes, measures or reads items."""
