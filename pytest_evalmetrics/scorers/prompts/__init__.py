"""What judges are asked, a file per scorer.

Each says its version, which is a part of what the journal knows an answer by, and is told in
``report.json``: whoever changes a prompt, or the form of its answer, counts it up.
"""
