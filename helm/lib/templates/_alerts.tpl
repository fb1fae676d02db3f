{{- define "classifeed.alerts" -}}
{{- if (.Values.alerts | default dict).enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
spec:
  groups:
    - name: {{ include "classifeed.fullname" . }}
      rules:
        - alert: ClassifeedTablesPastTheirBound
          # Every process that reaps shows the same figure; one that has stopped shows none.
          expr: max(classifeed_job_schedule_success_age_seconds{schedule="{{ .Chart.Name }}.clean-up"}) > {{ mul .Values.alerts.cleanUpHours 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Tables of {{ .Chart.Name }} grow past their bound
            description: >-
              The clean-up of {{ .Chart.Name }} has not succeeded for {{ "{{ $value | humanizeDuration }}" }}; what should
              have been removed since then is still kept.
            runbook: docs/how-to/tables-past-their-bound.md
        - alert: ClassifeedTablesUnobserved
          expr: absent(classifeed_job_schedule_success_age_seconds{schedule="{{ .Chart.Name }}.clean-up"})
          for: 30m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: It is unknown whether the tables of {{ .Chart.Name }} are cleaned up
            description: No process of {{ .Chart.Name }} that reaps jobs is scraped, or none runs.
            runbook: docs/how-to/tables-past-their-bound.md
{{- with .Values.alerts.heldHours }}
        - alert: ClassifeedLoadsHeld
          # Every process that watches shows the same figure.
          expr: max(classifeed_loads_held_oldest_age_seconds) > {{ mul . 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ $.Chart.Name }}
          annotations:
            summary: Loads wait for a decision
            description: >-
              A load that would remove most offers of its seller has waited for {{ "{{ $value | humanizeDuration }}" }} for
              somebody to confirm or reject it; its offers stay in the search until then.
            runbook: docs/how-to/loads-that-are-held.md
{{- end }}
{{- include "classifeed.alerts.texts" . }}
{{- include "classifeed.alerts.reviews" . }}
{{- include "classifeed.alerts.pictures" . }}
{{- end }}
{{- end -}}
