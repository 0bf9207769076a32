"""Every shape of every service model in the installed botocore, loaded, read back and compared."""
