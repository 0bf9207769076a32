"""The four tables that the DynamoDB developer guide teaches with."""
