{{/* What the pods of the operator and of the uninstall hook have in common. */}}

{{/* Not the chart's version: a chart that changes nothing about the operator need not restart it. */}}
{{- define "lithify.podLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lithify
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lithify.podSecurity" -}}
{{- $context := .Values.podSecurityContext -}}
{{- if .Values.openshift -}}
{{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}

{{- define "lithify.scope" -}}
- --home={{ .Release.Namespace }}
- --lease={{ include "lithify.operator" . }}
{{- range .Values.watchNamespaces | uniq }}
- --namespace={{ . }}
{{- end }}
{{- end -}}

{{- define "lithify.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "lithify.container" -}}
image: {{ include "lithify.image" (dict "image" .Values.image "root" .) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - name: HOME
    value: /tmp
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "lithify.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmp.sizeLimit }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
