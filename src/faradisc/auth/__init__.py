"""Who sent a request. Pure, but for the one file that holds credentials.

sigv4.py             the parts of a Signature Version 4, from the header or the query, and their errors
signature.py         what a signature should have been: canonical request, string to sign, signing key
strict.py            the authenticator that verifies; `sigv4.lenient` is the one that does not
keys.py              an access key, and the ring of them that an authenticator asks
credentials_file.py  the file they are kept in, secrets encrypted; the package's only I/O
"""
