"""Tables: what they are, where they are, and the one write path and the reads of their items.

    tables, catalog                  tables in memory by name; what makes and changes them
    table_commits                    the commit of a changed table with its stream
    catalog_store, catalog_follower  their rows; what follows the changes of other nodes
    state, definition, description   a table as it is stored, as requests define it, as answers describe it
    throughput_members, vector_definition  members of definitions, checked
    keys                             rules for key attributes
    replicas, strong                 what a replica of a global table stores; writes to several at once
    table, layout, names, moments    a table in its present state, its parts, names, and times of changes
    table_lifecycle, quotas          states and their ends; limits of an account
    change, indexes                  one change of one item and what it makes of it: pure
    writes, commit, key_locks        rounds of reading, evaluating, charging and committing
    images                           the stored items that changes are evaluated against
    reads, paging, loading           items and pages; the items of an import
    late, counted_sizes              earlier states of items; counts and sizes that are not current
    charging, usage_recording        what requests cost
    partition_sizes                  the growth of partitions
    derived, background_index        the contract of what is derived from items; which tables have what

Knows no derived kind by name: those are in engine/derived.
"""
