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
        - alert: ClassifeedProcessRestarts
          # A restarted container keeps its pod and has a new start time.
          expr: max by (pod) (changes(process_start_time_seconds{namespace="{{ .Release.Namespace }}", pod=~"{{ include "classifeed.fullname" . }}-.*"}[10m])) >= 3
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: A process of {{ .Chart.Name }} exits repeatedly
            description: >-
              {{ "{{ $labels.pod }}" }} has exited {{ "{{ $value }}" }} times within ten minutes; `kubectl logs --previous` shows
              the end of its log.
            runbook: docs/how-to/find-out-what-does-not-work.md
{{- if eq .Chart.Name "receiver" }}
        - alert: ClassifeedDamagedDocuments
          expr: max by (client) (classifeed_receiver_damaged_documents) > 0
          for: 5m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Rows of the registry are damaged
            description: >-
              {{ "{{ $value }}" }} documents of {{ "{{ $labels.client }}" }} are missing from the indexes until they are pushed
              again; readiness of the receiver names the first keys.
            runbook: docs/how-to/find-out-what-does-not-work.md
{{- end }}
{{- if .Values.alerts.cleanUpHours }}
        - alert: ClassifeedTablesPastTheirBound
          # Every process with the role reap reports the same value; a stopped one reports none.
          expr: max(classifeed_job_schedule_success_age_seconds{schedule="{{ .Chart.Name }}.clean-up"}) > {{ mul .Values.alerts.cleanUpHours 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Tables of {{ .Chart.Name }} grow past their bound
            description: >-
              The clean-up of {{ .Chart.Name }} has not succeeded for {{ "{{ $value | humanizeDuration }}" }}; rows that
              should have been removed since then are still stored.
            runbook: docs/how-to/tables-past-their-bound.md
        - alert: ClassifeedTablesUnobserved
          expr: absent(classifeed_job_schedule_success_age_seconds{schedule="{{ .Chart.Name }}.clean-up"})
          for: 30m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The clean-up of the tables of {{ .Chart.Name }} is not observed
            description: No process of {{ .Chart.Name }} with the role reap runs, or Prometheus does not scrape it.
            runbook: docs/how-to/tables-past-their-bound.md
{{- end }}
{{- with .Values.alerts.heldHours }}
        - alert: ClassifeedLoadsHeld
          # Every process with the role watch reports the same value.
          expr: max(classifeed_loads_held_oldest_age_seconds) > {{ mul . 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ $.Chart.Name }}
          annotations:
            summary: Loads wait for a decision
            description: >-
              A held load has waited for {{ "{{ $value | humanizeDuration }}" }} for a decision, because it would remove or
              change too many offers. Confirm or reject it; these offers stay unchanged until then.
            runbook: docs/how-to/loads-that-are-held.md
{{- end }}
{{- include "classifeed.alerts.texts" . }}
{{- include "classifeed.alerts.reviews" . }}
{{- include "classifeed.alerts.pictures" . }}
{{- end }}
{{- end -}}
