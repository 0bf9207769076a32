"""Other AWS services on the same port (Application Auto Scaling, CloudWatch) and the admin API."""
