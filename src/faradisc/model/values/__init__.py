"""Attribute values and what is computed from them. Pure; imports nothing above itself.

attribute, number  the ten types in memory; numbers of 38 digits
checks             values as clients send them, and their canonical form
size               sizes, as limits and capacity units count them
path               places in a document
schema             schemas of keys and indexes, and projections
parameters         the parameters of one request, for its checks and expressions
java_order         the order of sets and maps in the service's texts
"""
