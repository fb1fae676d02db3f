from __future__ import annotations

from fake_service import main

main("alpha")
