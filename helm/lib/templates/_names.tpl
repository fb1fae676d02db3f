{{- define "classifeed.name" -}}
{{- .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "classifeed.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/*
Name of the Service of a service. Takes a list of the context and the service's name. The name does not depend on the
release, so services find each other with separate releases and with a common one. Two suites in one namespace need
different values of `global.servicePrefix`.
*/}}
{{- define "classifeed.serviceOf" -}}
{{- $root := index . 0 -}}
{{- printf "%s%s" (($root.Values.global).servicePrefix | default "classifeed-") (index . 1) -}}
{{- end -}}

{{- define "classifeed.service" -}}
{{- include "classifeed.serviceOf" (list . .Chart.Name) -}}
{{- end -}}

{{- define "classifeed.labels" -}}
app.kubernetes.io/name: {{ include "classifeed.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: classifeed
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "classifeed.selector" -}}
app.kubernetes.io/name: {{ include "classifeed.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "classifeed.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Prefix of the service's settings, e.g. CLASSIFEED_OFFERS_ */}}
{{- define "classifeed.env" -}}
CLASSIFEED_{{ include "classifeed.name" . | upper | replace "-" "_" }}_
{{- end -}}

{{/* Allowed host names of HTTP requests: those of the Service and the Ingress, and those in `config.HTTP_HOSTS`. */}}
{{- define "classifeed.httpHosts" -}}
{{- $name := include "classifeed.service" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $names := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) -}}
{{- if (.Values.ingress).enabled -}}
{{- $names = append $names .Values.ingress.host -}}
{{- end -}}
{{- with .Values.config.HTTP_HOSTS -}}
{{- $names = append $names (tpl . $) -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
