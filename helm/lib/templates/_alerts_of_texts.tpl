{{/* Alerts of moderation: waiting texts, verdicts without a rule, refused callbacks. */}}
{{- define "classifeed.alerts.texts" -}}
{{- if .Values.alerts.waitingMinutes }}
        - alert: ClassifeedTextsWaitLong
          # Every process with the role watch reports the same value.
          expr: max by (kind) (classifeed_moderation_oldest_waiting_seconds) > {{ mul .Values.alerts.waitingMinutes 60 }}
          for: 5m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: Texts wait too long for their verdict
            description: >-
              A text of kind {{ "{{ $labels.kind }}" }} has waited for {{ "{{ $value | humanizeDuration }}" }}, although each
              is requested again within minutes; it is not shown until it has a verdict.
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
            summary: More and more texts wait for their verdict
            description: >-
              {{ "{{ $value }}" }} texts of kind {{ "{{ $labels.kind }}" }} wait. For an hour more texts have arrived than were
              judged.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedTextsDropped
          # Texts of offers are queued only while there is space; points and comments arrive at any time.
          expr: sum by (kind) (increase(classifeed_moderation_dropped_texts_total{kind!="offer"}[10m])) > 0
          for: 30m
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The queue of the workers is full
            description: >-
              Texts of kind {{ "{{ $labels.kind }}" }} have found the queue in memory full for half an hour. None is lost; each
              waits until it is due.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictServiceFails
          # Without waiting texts no request can show that it works again.
          expr: max(classifeed_moderation_breaker_open) == 1 and sum(classifeed_moderation_waiting_texts) > 0
          for: {{ .Values.alerts.failingMinutes }}m
          labels:
            severity: critical
            service: {{ .Chart.Name }}
          annotations:
            summary: The verdict service is down, or fails
            description: >-
              Requests to the verdict service have failed for {{ .Values.alerts.failingMinutes }} minutes and are limited to one a second for each
              process. No text gets a new verdict meanwhile.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictsUnknown
          expr: sum(increase(classifeed_moderation_unknown_verdicts_total[1h])) > 0
          labels:
            severity: warning
            service: {{ .Chart.Name }}
          annotations:
            summary: The verdict service returns verdicts that no rule names
            description: >-
              {{ "{{ $value }}" }} verdicts of the last hour have no rule. unknown_verdict in the rules decides whether
              their texts are refused. The log names them.
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
              Callbacks have been refused for half an hour, for {{ "{{ $labels.reason }}" }}. Either they are forged, or
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
              The file is wrong or missing. The previous version stays in force, and a process that starts now does not
              become ready. /health/ready has the reason.
            runbook: docs/how-to/change-a-rule.md
{{- end }}
{{- end -}}

{{/* Alerts of cleanweb: waiting reviews, callbacks that do not arrive. */}}
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
              shows the response of its receiver.
            runbook: docs/how-to/when-the-verdict-service-is-away.md
        - alert: ClassifeedVerdictCallbacksGivenUp
          expr: max(classifeed_cleanweb_given_up_callbacks) > 0
          labels:
            severity: critical
            service: {{ .Chart.Name }}
          annotations:
            summary: Verdicts of reviewers were given up
            description: >-
              {{ "{{ $value }}" }} callbacks were given up. Correct their receiver, then send them again with
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
              The file is wrong or missing. The previous version stays in force, and a process that starts now does not
              become ready. /health/ready has the reason.
            runbook: docs/how-to/change-a-rule.md
{{- end }}
{{- end -}}
