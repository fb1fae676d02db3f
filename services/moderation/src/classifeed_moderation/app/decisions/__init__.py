"""From verdicts to decisions: applied, recorded, reported, and judged again."""
