"""Who may do what: the rights that a request needs, and their test before its operation runs.

    needs         the actions and resources of a request, from its operation's entry in the registry
    conditions    the values of condition keys, each computed when a policy asks for it
    grants        what a resource policy can grant
    authorizer    tests every need of a request against the caller's policies and those of the resources

Imported at the first request of a caller with policies; requests of the account's own keys never come here.
"""
