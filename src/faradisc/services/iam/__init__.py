"""IAM and STS, as far as users of DynamoDB need them.

service     executes one operation: its rights, its handler, the change on the disk
registry    the operations by name: handler, resource for policies, whether it changes something
asking      what a handler is given, and what handlers share: lookups, pages, tags
entities    users, groups, roles; keys of users
policies    inline and managed policies, boundaries
sessions    STS: temporary credentials
errors      the exceptions of both services
simulation  SimulatePrincipalPolicy, SimulateCustomPolicy

Handlers are plain functions from (identities, Ask) to the members of the answer. Those that change something
change the identities they are given; the service stores them. Facts: iam.md section 8.
"""
