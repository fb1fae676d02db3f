{{- define "classifeed.plumbing" -}}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
data:
  {{ include "classifeed.env" . }}GRPC_LISTEN: {{ printf "0.0.0.0:%v" .Values.ports.grpc | quote }}
  {{ include "classifeed.env" . }}HTTP_LISTEN: {{ printf "0.0.0.0:%v" .Values.ports.http | quote }}
  {{- /* Names of the Service; probes and scrapers come by the pod's address, which needs no name (ADR 0045). */}}
  {{ include "classifeed.env" . }}HTTP_HOSTS: {{ include "classifeed.httpHosts" . | quote }}
  {{- range $name, $value := omit .Values.config "HTTP_HOSTS" }}
  {{ include "classifeed.env" $ }}{{ $name }}: {{ tpl (toString $value) $ | quote }}
  {{- end }}
  {{- include "classifeed.variables" . | nindent 2 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
spec:
  # Headless: gRPC clients see every pod and balance their calls themselves.
  clusterIP: None
  selector:
    {{- include "classifeed.selector" . | nindent 4 }}
    app.kubernetes.io/component: {{ .Values.servedBy }}
  ports:
    - name: grpc
      port: {{ .Values.ports.grpc }}
      targetPort: grpc
      appProtocol: grpc
    - name: http
      port: {{ .Values.ports.http }}
      targetPort: http
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "classifeed.selector" . | nindent 6 }}
  policyTypes: ["Ingress"]
  ingress:
    - from:
        {{- range .Values.networkPolicy.callers }}
        - podSelector:
            matchLabels:
              app.kubernetes.io/name: {{ . }}
        {{- end }}
        {{- with .Values.networkPolicy.extraFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - port: grpc
    - from:
        {{- toYaml .Values.networkPolicy.httpFrom | nindent 8 }}
      ports:
        - port: http
{{- if .Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "classifeed.selector" . | nindent 6 }}
  endpoints:
    - port: http
      path: /metrics
      interval: 30s
---
# The Service has the pods of one role only; what jobs and tables are like is told by those of the others.
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "classifeed.selector" . | nindent 6 }}
    matchExpressions:
      - {key: app.kubernetes.io/component, operator: NotIn, values: [{{ .Values.servedBy | quote }}]}
  podMetricsEndpoints:
    - port: http
      path: /metrics
      interval: 30s
{{- end }}
{{- include "classifeed.alerts" . }}
{{- end -}}
