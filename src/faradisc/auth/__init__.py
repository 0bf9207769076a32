"""Who sent a request. Pure: no I/O, no clock.

sigv4.py      the parts of a Signature Version 4, from the header or the query, and their errors
signature.py  what a signature should have been: canonical request, string to sign, signing key
"""
