"""Files of the charts: schemas, READMEs, dashboards, and the dependencies of the suite's chart."""
