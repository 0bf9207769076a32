"""Authenticates requests. Pure, except for the file that holds credentials.

sigv4.py             the parts of a Signature Version 4, from the header or the query, and their errors
signature.py         computes signatures: canonical request, string to sign, signing key
strict.py            the authenticator that verifies; `sigv4.lenient` does not
identity.py          the caller whom policies limit
resource_policy.py   the policy of a table or stream, as stored
keys.py              access keys and keyrings
credentials_file.py  the file of access keys, secrets encrypted; the package's only I/O
"""
