{{/* One Job before the new pods (phase pre) and one after them (phase post). */}}
{{- define "classifeed.migrations" -}}
{{- if .Values.migrations.enabled }}
{{- $root := . -}}
{{- range $phase := list "pre" "post" }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "classifeed.fullname" $root }}-migrate-{{ $phase }}{{ if not $root.Values.migrations.hooks }}-{{ $root.Release.Revision }}{{ end }}
  labels:
    {{- include "classifeed.labels" $root | nindent 4 }}
    app.kubernetes.io/component: migrate-{{ $phase }}
  {{- if $root.Values.migrations.hooks }}
  annotations:
    helm.sh/hook: {{ if eq $phase "pre" }}pre-install,pre-upgrade{{ else }}post-upgrade{{ end }}
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
  {{- end }}
spec:
  backoffLimit: 3
  activeDeadlineSeconds: {{ $root.Values.migrations.deadlineSeconds }}
  template:
    metadata:
      labels:
        {{- include "classifeed.labels" $root | nindent 8 }}
        app.kubernetes.io/component: migrate-{{ $phase }}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      {{- include "classifeed.scheduling" $root | nindent 6 }}
      securityContext:
        {{- include "classifeed.podSecurity" $root | nindent 8 }}
      containers:
        - name: migrate
          image: {{ include "classifeed.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: ["migrate", "--phase", "{{ $phase }}"]
          env:
            # A hook runs before the ConfigMap of the release exists, so the Job has the settings as variables.
            {{- range $name, $value := $root.Values.config }}
            - name: {{ include "classifeed.env" $root }}{{ $name }}
              value: {{ tpl (toString $value) $root | quote }}
            {{- end }}
            {{- range $name, $value := include "classifeed.variables" $root | fromYaml }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
            {{- include "classifeed.environment" $root | nindent 12 }}
            {{- with ($root.Values.pod).extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with ($root.Values.pod).extraEnvFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          resources:
            {{- toYaml $root.Values.migrations.resources | nindent 12 }}
          securityContext:
            {{- include "classifeed.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - name: tmp
              mountPath: /tmp
            {{- with ($root.Values.pod).extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir:
            sizeLimit: 64Mi
        {{- with ($root.Values.pod).extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "classifeed.all" -}}
{{- include "classifeed.plumbing" . }}
{{- include "classifeed.workloads" . }}
{{- include "classifeed.migrations" . }}
{{- end -}}
