"""Values to bytes and back: sorting keys, row keys and their places, stored records. Pure."""
