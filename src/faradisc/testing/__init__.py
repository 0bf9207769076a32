"""Tools for tests, of this project and of those who extend it. Nothing here runs in a server."""
