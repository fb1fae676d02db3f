{{/* Alerts of pictures: waiting requests, full namespaces, refusing hosts, old backups. */}}
{{- define "classifeed.alerts.pictures" -}}
{{- if .Values.alerts.requestHours }}
        - alert: ClassifeedPicturesWaitLong
          # The process with the role watch reports the value; a permanent failure is a result, too.
          expr: max(classifeed_pictures_oldest_request_seconds) > {{ mul .Values.alerts.requestHours 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: A request for a picture has waited too long for its first result
            description: >-
              The oldest request has waited for {{ "{{ $value | humanizeDuration }}" }}. Either downloads, copies or events do
              not keep up, or a host accepts too few requests.
            runbook: docs/how-to/a-host-that-blocks-us.md
        - alert: ClassifeedPictureHostsRefuse
          expr: max(classifeed_pictures_refusing_hosts) > 0
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Hosts of pictures have refused all requests for a day
            description: >-
              {{ "{{ $value }}" }} hosts have not sent a picture for a day or longer although there were requests;
              pictures.host.refused in the log names them.
            runbook: docs/how-to/a-host-that-blocks-us.md
        - alert: ClassifeedPictureQuotaUsed
          expr: >-
            max by (picture_namespace) (classifeed_pictures_stored_bytes)
            / (max by (picture_namespace) (classifeed_pictures_quota_bytes) > 0)
            > {{ divf .Values.alerts.quotaPercent 100 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: A namespace of pictures has little space left
            description: >-
              The namespace {{ "{{ $labels.picture_namespace }}" }} uses {{ "{{ $value | humanizePercentage }}" }} of its quota.
              Beyond the quota pictures fail with PICTURE_QUOTA_EXCEEDED.
            runbook: docs/how-to/a-host-that-blocks-us.md
{{- end }}
{{- if .Values.alerts.backupHours }}
        - alert: ClassifeedPicturesBackupOld
          # The process with the role watch reports the value.
          expr: max(classifeed_pictures_backup_age_seconds) > {{ mul .Values.alerts.backupHours 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The newest backup of the state of pictures is old
            description: >-
              The newest backup began {{ "{{ $value | humanizeDuration }}" }} ago. A restore applies later events only as long as Kafka
              keeps them.
            runbook: docs/how-to/restore-pictures.md
{{- end }}
{{- end -}}
