"""`classifeed doctor`: checks whether this machine can run the suite, and whether a running suite works."""

from __future__ import annotations

import typer

from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.options import DataOption, data_folder
from classifeed_cli.terminal.output import JsonOption, Output
from classifeed_cli.terminal.wrapping import one_line


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check what the suite needs and how it runs, with a fix for each fault; exit code 1 if there is a fault."""
    from classifeed_cli.platform.doctor import examine
    from classifeed_cli.platform.planning.layout import Layout

    output = Output(as_json)
    findings = examine(Layout(data_folder(data)))
    healthy = all(finding.outcome != "failed" for finding in findings)
    checks = [{"check": f.check, "outcome": f.outcome, "text": f.text} for f in findings]
    output.document({"healthy": healthy, "checks": checks})
    rows = [("check", "outcome", "particulars"), *((f.check, f.outcome, f.text) for f in findings)]
    check_width, outcome_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    for check, outcome, text in rows:
        # Wrapped, never cut: the text ends with the fix.
        head = f"{check:<{check_width}}  {outcome:<{outcome_width}}  "
        output.say(head + one_line(text), hang=len(head))
    if not healthy:
        raise typer.Exit(ExitCode.REFUSED)
