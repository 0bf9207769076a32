"""Backups, restores, and point-in-time recovery.

    registry, writing                the backups of a database, and the job that writes one
    backup, files, definitions       a backup's row, its files, and the table that a restore makes of it
    storage, verification            where the files are, and what is checked of them
    restoring                        the job that fills a table from a backup or from the past
    history, periods                 reads a table's past; describes and ends the period that can be restored

Below exchange, which exports the past. Writes tables through engine/tables only.
"""
