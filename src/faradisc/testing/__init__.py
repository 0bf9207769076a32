"""Tools for tests of this project and of extensions. A server uses none of them."""
