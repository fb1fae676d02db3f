{{/* Variables without a prefix, as a map of texts: the chart's override those of all charts. */}}
{{- define "classifeed.variables" -}}
{{- range $name, $value := merge (dict) (.Values.environment | default dict) ((.Values.global).environment | default dict) }}
{{ $name }}: {{ tpl (toString $value) $ | quote }}
{{- end }}
{{- end -}}

{{/* Environment shared by every container of the service. */}}
{{- define "classifeed.environment" -}}
- name: {{ include "classifeed.env" . }}KEYS_DIR
  value: /var/run/classifeed/keys
- name: {{ include "classifeed.env" . }}LOG_JSON
  value: "true"
{{- range $name, $from := .Values.secrets.env }}
- name: {{ include "classifeed.env" $ }}{{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ required (printf "secrets.name must name the Secret that holds %s" $from) $.Values.secrets.name }}
      key: {{ $from }}
{{- end }}
{{- end -}}

{{- define "classifeed.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "classifeed.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end -}}

{{/* Scheduling of pods and pull secrets of their images; for pods of roles and of migrations. */}}
{{- define "classifeed.scheduling" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod }}
{{- range $name := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $.Values.pod $name }}
{{ $name }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Pod of one role. Takes a dict: root, role (name), spec (values of the role). */}}
{{- define "classifeed.pod" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $spec := .spec -}}
metadata:
  labels:
    {{- include "classifeed.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
    {{- with ($root.Values.pod).labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ printf "%s%s" (toJson $root.Values.config) (include "classifeed.variables" $root) | sha256sum }}
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "classifeed.fullname" $root }}
  automountServiceAccountToken: false
  {{- include "classifeed.scheduling" $root | nindent 2 }}
  terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "classifeed.podSecurity" $root | nindent 4 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "classifeed.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $role }}
    {{- with ($root.Values.pod).topologySpreadConstraints }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  containers:
    - name: {{ include "classifeed.name" $root }}
      image: {{ include "classifeed.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      {{- with $spec.args }}
      args: {{ toJson . }}
      {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "classifeed.fullname" $root }}
        {{- with ($root.Values.pod).extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      env:
        {{- include "classifeed.environment" $root | nindent 8 }}
        {{- with ($root.Values.pod).extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: grpc
          containerPort: {{ $root.Values.ports.grpc }}
        - name: http
          containerPort: {{ $root.Values.ports.http }}
      {{- /* Liveness is enough: a pod that is not ready for long, such as one that builds an index, must not be restarted. */}}
      startupProbe:
        httpGet:
          path: /health/live
          port: http
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        grpc:
          port: {{ $root.Values.ports.grpc }}
        periodSeconds: 5
        timeoutSeconds: 3
      livenessProbe:
        httpGet:
          path: /health/live
          port: http
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 3
      resources:
        {{- toYaml $spec.resources | nindent 8 }}
      securityContext:
        {{- include "classifeed.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - name: keys
          mountPath: /var/run/classifeed/keys
          readOnly: true
        - name: tmp
          mountPath: /tmp
        {{- if $spec.storage }}
        - name: data
          mountPath: /var/lib/classifeed
        {{- end }}
        {{- with ($root.Values.pod).extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: keys
      secret:
        secretName: {{ required "keys.name must name the Secret with the service's keys" $root.Values.keys.name }}
        defaultMode: 0440
    - name: tmp
      emptyDir:
        sizeLimit: {{ $root.Values.tmpSizeLimit }}
    {{- with ($root.Values.pod).extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
