"""Loads every shape of every service model in the installed botocore, reads them back and compares."""
