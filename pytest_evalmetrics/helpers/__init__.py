"""Processes of this machine that help this one with its work, where cores have nothing to do."""
