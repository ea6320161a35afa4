"""What failed as GitLab's Code Quality reads it.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.reports.ci import in_repository
from pytest_evalmetrics.reports.lost import lost_ones

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["code_quality"]

# info, minor, major, critical and blocker are all there are
_SEVERITIES = {"WARN": "minor", "INCONCLUSIVE": "major", "FAIL": "critical"}


def code_quality(report: Mapping[str, Any], root: Path | None = None) -> bytes:
    """Write one violation for each check that does not hold, as a JSON array."""
    repository = os.environ.get("CI_PROJECT_DIR")
    found = [*_violations(report), *_lost(report)]
    for violation in found:
        where = violation["location"]
        where["path"] = in_repository(where["path"], root=root, repository=repository)
    return json.dumps(found, indent=2, ensure_ascii=False).encode() + b"\n"


def _violations(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in report["benchmarks"]:
        for check in entry["checks"]:
            severity = _SEVERITIES.get(check["verdict"])
            if severity is None:
                continue
            if entry["xfail"]:
                severity = "info"
            agent = f"{check['agent']}: " if check["agent"] else ""
            yield _violation(
                f"{entry['name']}: {agent}{check['reason'] or check['name']}",
                f"evalmetrics-{check['gate']}",
                # without the numbers: the same fault has to be known again in the next run
                identity=(entry["id"], check["gate"], check["name"], check["agent"]),
                severity=severity,
                place=(entry["file"], check["line"] or entry["line"]),
            )


def _lost(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item, told in lost_ones(report):
        file = item.partition("::")[0]
        yield _violation(
            f"{item} {told}",
            "evalmetrics-not-evaluated",
            identity=(item,),
            severity="major",
            place=(file, 1),
        )


def _violation(
    description: str,
    name: str,
    *,
    identity: tuple[str, ...],
    severity: str,
    place: tuple[str, int],
) -> dict[str, Any]:
    digest = blake2b(json.dumps([name, *identity]).encode(), digest_size=16)
    return {
        "description": description,
        "check_name": name,
        "fingerprint": digest.hexdigest(),
        "severity": severity,
        "location": {"path": place[0], "lines": {"begin": place[1]}},
    }
