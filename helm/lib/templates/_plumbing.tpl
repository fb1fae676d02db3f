{{- define "classifeed.plumbing" -}}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
  {{- with (.Values.serviceAccount).annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
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
  {{- /* Names of the Service. Probes and scrapers use the pod's address, which needs no name (ADR 0045). */}}
  {{ include "classifeed.env" . }}HTTP_HOSTS: {{ include "classifeed.httpHosts" . | quote }}
  {{- range $name, $value := omit .Values.config "HTTP_HOSTS" }}
  {{ include "classifeed.env" $ }}{{ $name }}: {{ tpl (toString $value) $ | quote }}
  {{- end }}
  {{- include "classifeed.variables" . | nindent 2 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "classifeed.service" . }}
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
  policyTypes: ["Ingress"{{ if (.Values.networkPolicy.egress).enabled }}, "Egress"{{ end }}]
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
  {{- with .Values.networkPolicy.egress }}
  {{- if .enabled }}
  egress:
    - to:
        - namespaceSelector: {}
          podSelector:
            matchLabels:
              k8s-app: kube-dns
      ports:
        - {port: 53, protocol: UDP}
        - {port: 53, protocol: TCP}
    {{- with $.Values.peers }}
    - to:
        {{- range $peer, $_ := . }}
        - podSelector:
            matchLabels:
              app.kubernetes.io/name: {{ $peer }}
        {{- end }}
      ports:
        - port: grpc
    {{- end }}
    {{- with .ports }}
    # Servers: PostgreSQL, Kafka, S3, a collector of traces.
    - {{- with $.Values.networkPolicy.egress.to }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- range . }}
        - port: {{ . }}
        {{- end }}
    {{- end }}
    {{- if .internet }}
    # Links of sellers: only the public internet, as in the Fetcher (ADR 0019). Put a NAT64 prefix into `extra`.
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except:
              - 0.0.0.0/8
              - 10.0.0.0/8
              - 100.64.0.0/10
              - 127.0.0.0/8
              - 168.63.129.16/32
              - 169.254.0.0/16
              - 172.16.0.0/12
              - 192.0.0.0/24
              - 192.0.2.0/24
              - 192.31.196.0/24
              - 192.52.193.0/24
              - 192.88.99.0/24
              - 192.168.0.0/16
              - 192.175.48.0/24
              - 198.18.0.0/15
              - 198.51.100.0/24
              - 203.0.113.0/24
              - 224.0.0.0/4
              - 240.0.0.0/4
        - ipBlock:
            cidr: 2000::/3
            except:
              - 2001::/23
              - 2001:db8::/32
              - 2002::/16
              - 2620:4f:8000::/48
              - 3ffe::/16
              - 3fff::/20
      ports:
        - port: 80
        - port: 443
    {{- end }}
    {{- with .extra }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- end }}
{{- with .Values.ingress }}
{{- if .enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "classifeed.fullname" $ }}
  labels:
    {{- include "classifeed.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .tlsSecret }}
  tls:
    - secretName: {{ . }}
      hosts: [{{ $.Values.ingress.host | quote }}]
  {{- end }}
  rules:
    - host: {{ required "ingress.host must name the host" .host | quote }}
      http:
        paths:
          - path: {{ .path | default "/" }}
            pathType: Prefix
            backend:
              service:
                name: {{ include "classifeed.service" $ }}
                port:
                  name: http
{{- end }}
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
    {{- with .Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "classifeed.selector" . | nindent 6 }}
  endpoints:
    - port: http
      path: /metrics
      interval: 30s
---
# The Service has the pods of one role only; pods of other roles report the state of jobs and tables.
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ include "classifeed.fullname" . }}
  labels:
    {{- include "classifeed.labels" . | nindent 4 }}
    {{- with .Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
{{- include "classifeed.dashboards" . }}
{{- end -}}
