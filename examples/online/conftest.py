"""Put this folder on the import path, for `target: converter:answer`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
