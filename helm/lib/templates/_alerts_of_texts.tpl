{{/* Alerts of moderation: texts that wait, verdicts without a rule, callbacks that are refused. */}}
{{- define "classifeed.alerts.texts" -}}
{{- if .Values.alerts.waitingMinutes }}
        - alert: ClassifeedTextsWaitLong
          # Every process that watches shows the same figure.
          expr: max by (kind) (classifeed_moderation_oldest_waiting_seconds) > {{ mul .Values.alerts.waitingMinutes 60 }}
          for: 5m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Texts wait long for their verdict
            description: >-
              A text of kind {{ "{{ $labels.kind }}" }} has waited for {{ "{{ $value | humanizeDuration }}" }}, although each
              is requested again within minutes; it is not shown until then.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedTextsPileUp
          expr: >-
            max by (kind) (classifeed_moderation_waiting_texts) > 1000
            and max by (kind) (deriv(classifeed_moderation_waiting_texts[30m])) > 0
          for: 1h
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Ever more texts wait for their verdict
            description: >-
              {{ "{{ $value }}" }} texts of kind {{ "{{ $labels.kind }}" }} wait, and for an hour more have come than were
              judged.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedTextsDropped
          # Texts of offers are taken as there is room; points and comments come when they come.
          expr: sum by (kind) (increase(classifeed_moderation_dropped_texts_total{kind!="offer"}[10m])) > 0
          for: 30m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Texts find the queue of the workers full
            description: >-
              Texts of kind {{ "{{ $labels.kind }}" }} have found the queue in memory full for half an hour; none is lost, each
              waits until it is due.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictServiceFails
          # Without texts nobody finds out that it is back.
          expr: max(classifeed_moderation_breaker_open) == 1 and sum(classifeed_moderation_waiting_texts) > 0
          for: {{ .Values.alerts.failingMinutes }}m
          labels:
            severity: critical
            service: {{ .Chart.Name }}
          annotations:
            summary: The verdict service is away, or fails
            description: >-
              Requests to the verdict service have failed for {{ .Values.alerts.failingMinutes }} minutes and are held back to one a second of each
              process; no text gets a new verdict meanwhile.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictsUnknown
          expr: sum(increase(classifeed_moderation_unknown_verdicts_total[1h])) > 0
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The verdict service gives verdicts that no rule names
            description: >-
              {{ "{{ $value }}" }} verdicts of the last hour have no rule; whether their texts are refused is what
              unknown_verdict in the rules says. The log names them.
            runbook: docs/how-to/change-a-rule.md
        - alert: ClassifeedVerdictCallbacksRefused
          expr: sum by (reason) (increase(classifeed_http_refusals_total{api="verdict-callback"}[10m])) > 0
          for: 30m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Callbacks with verdicts are refused
            description: >-
              Callbacks have been refused for half an hour, for {{ "{{ $labels.reason }}" }}. Either somebody forges them, or
              verdicts of people do not arrive.
            runbook: docs/how-to/use-another-verdict-service.md
        - alert: ClassifeedRulesRefused
          expr: max(classifeed_snapshot_refused{snapshot="rules"}) == 1
          for: 2m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The file of rules of {{ .Chart.Name }} is wrong
            description: >-
              The file is wrong or away, and the version before stays in force; a process that starts now does not come up.
              /health/ready says why.
            runbook: docs/how-to/change-a-rule.md
{{- end }}
{{- end -}}

{{/* Alerts of cleanweb: reviews that wait, callbacks that do not arrive. */}}
{{- define "classifeed.alerts.reviews" -}}
{{- if .Values.alerts.reviewHours }}
        - alert: ClassifeedReviewsWaitLong
          expr: max by (project) (classifeed_cleanweb_oldest_review_seconds) > {{ mul .Values.alerts.reviewHours 3600 }}
          for: 15m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Texts wait for reviewers
            description: >-
              The oldest text of {{ "{{ $labels.project }}" }} has waited for {{ "{{ $value | humanizeDuration }}" }} for
              reviewers to agree.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictCallbacksWait
          expr: max(classifeed_cleanweb_oldest_callback_seconds) > {{ mul .Values.alerts.callbackMinutes 60 }}
          for: 5m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Verdicts of reviewers do not arrive
            description: >-
              The oldest callback has been tried for {{ "{{ $value | humanizeDuration }}" }}; `classifeed cleanweb callbacks`
              says what its receiver responds.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictCallbacksGivenUp
          expr: max(classifeed_cleanweb_given_up_callbacks) > 0
          labels:
            severity: critical
            service: {{ .Chart.Name }}
          annotations:
            summary: Verdicts of reviewers were given up
            description: >-
              {{ "{{ $value }}" }} callbacks are not tried any more; correct their receiver, then send them again with
              `classifeed cleanweb resend`.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedRulesRefused
          expr: max(classifeed_snapshot_refused{snapshot="automatics"}) == 1
          for: 2m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The file of rules of {{ .Chart.Name }} is wrong
            description: >-
              The file is wrong or away, and the version before stays in force; a process that starts now does not come up.
              /health/ready says why.
            runbook: docs/how-to/change-a-rule.md
{{- end }}
{{- end -}}
