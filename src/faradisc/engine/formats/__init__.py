"""Files of items, as exports write and imports read them. Nothing here knows tables.

    json_lines, csv_rows             DynamoDB JSON and CSV
    ion_text, ion_values             Amazon Ion, written and read
    compression                      gzip and zstd as streams
    manifests                        the layout of an export and its checksums
    masking                          rules that hide attributes

Source: new-features.md sections 3 and 14, limits.md sections 8 and 10, and the service model.
"""
