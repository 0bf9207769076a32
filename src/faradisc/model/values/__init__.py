"""What an item is: attribute values, numbers, sizes, paths, schemas. Pure; imports nothing above itself."""
