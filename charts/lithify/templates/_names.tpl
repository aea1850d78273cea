{{/* Names and labels. */}}

{{- define "lithify.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "lithify.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "lithify.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "lithify.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lithify.operator" -}}
{{- printf "%s-operator" (include "lithify.fullname" .) -}}
{{- end -}}

{{- define "lithify.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "lithify.operator" .) -}}
{{- end -}}

{{/* Selects the pods of this release: the operator's and the hook's. */}}
{{- define "lithify.release" -}}
app.kubernetes.io/name: {{ include "lithify.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Selects the operator's pods. */}}
{{- define "lithify.selector" -}}
{{ include "lithify.release" . }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "lithify.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "lithify.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lithify
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An image by its repository, and digest or tag. */}}
{{- define "lithify.image" -}}
{{- $image := .image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Namespaces in which drivers get what they need, as JSON. */}}
{{- define "lithify.driverNamespaces" -}}
{{- .Values.drivers.namespaces | default .Values.watchNamespaces | uniq | toJson -}}
{{- end -}}
