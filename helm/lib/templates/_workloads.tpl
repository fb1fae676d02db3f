{{/* Deployment or StatefulSet of each role, with its budget and its scaling. */}}
{{- define "classifeed.workloads" -}}
{{- $root := . -}}
{{- range $role, $spec := .Values.roles }}
{{- $name := printf "%s-%s" (include "classifeed.fullname" $root) $role }}
---
apiVersion: apps/v1
kind: {{ if $spec.storage }}StatefulSet{{ else }}Deployment{{ end }}
metadata:
  name: {{ $name }}
  labels:
    {{- include "classifeed.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
spec:
  {{- if not $spec.autoscaling.enabled }}
  replicas: {{ $spec.replicas }}
  {{- end }}
  {{- if $spec.storage }}
  serviceName: {{ include "classifeed.service" $root }}
  podManagementPolicy: Parallel
  {{- end }}
  selector:
    matchLabels:
      {{- include "classifeed.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $role }}
  template:
    {{- include "classifeed.pod" (dict "root" $root "role" $role "spec" $spec) | nindent 4 }}
  {{- if $spec.storage }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: ["ReadWriteOnce"]
        {{- with $spec.storage.className }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $spec.storage.size }}
  {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels:
    {{- include "classifeed.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "classifeed.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ $role }}
{{- if $spec.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels:
    {{- include "classifeed.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: {{ if $spec.storage }}StatefulSet{{ else }}Deployment{{ end }}
    name: {{ $name }}
  minReplicas: {{ $spec.replicas }}
  maxReplicas: {{ $spec.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ $spec.autoscaling.targetCpuPercent }}
{{- end }}
{{- end }}
{{- end -}}
