"""Throughput: units, and (in later issues) buckets, partitions and admission. Pure; no clock of its own."""
