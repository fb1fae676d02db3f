{{/* Grafana dashboards of a chart: each file of dashboards/ in a ConfigMap. `make stubs` writes the files. */}}
{{- define "classifeed.dashboards" -}}
{{- with .Values.dashboards }}
{{- if .enabled }}
{{- range $path, $_ := $.Files.Glob "dashboards/*.json" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "classifeed.fullname" $ }}-dashboards
  labels:
    {{- include "classifeed.labels" $ | nindent 4 }}
    {{- toYaml $.Values.dashboards.labels | nindent 4 }}
data:
  {{ base $path }}: |-
    {{- $.Files.Get $path | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
