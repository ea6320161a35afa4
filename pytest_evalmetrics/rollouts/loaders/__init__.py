"""Loaders of other tools' files, one module a tool; `formats` lists them."""
