"""The four example tables of the DynamoDB developer guide."""
