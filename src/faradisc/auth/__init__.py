"""Authenticates requests. Pure, except for the files that hold credentials.

sigv4.py             the parts of a Signature Version 4, from the header or the query, and their errors
signature.py         computes signatures: canonical request, string to sign, signing key
strict.py            the authenticator that verifies; `sigv4.lenient` does not
identity.py          the caller whom policies limit
resource_policy.py   the policy of a table or stream, as stored
keys.py              access keys, and what an authenticator needs of a keyring
identities.py        users, groups, roles and managed policies, as stored
session_tokens.py    temporary credentials, sealed in their token
keyring.py           the keyring of a server, with the policies of each key
sealed_file.py       a file of secrets, encrypted
credentials_file.py  the file of access keys and identities
"""
