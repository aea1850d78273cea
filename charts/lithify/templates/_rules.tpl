{{/* Who may do what. docs/security.md says why, and a test compares these rules with what the operator asks for. */}}

{{/* The operator, in the namespaces of tables. */}}
{{- define "lithify.operatorRules" -}}
- apiGroups: [lithify.dev]
  resources: [catalogs, compactionpolicies]
  verbs: [get, list, watch]
# create: for discovery; patch, delete: for discovery.prune
- apiGroups: [lithify.dev]
  resources: [laketables]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [lithify.dev]
  resources: [compactions]
  verbs: [get, list, watch, create, delete]
- apiGroups: [lithify.dev]
  resources: [catalogs/status, compactionpolicies/status, laketables/status, compactions/status]
  verbs: [patch]
# patch: to release a finalizer
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
# to notice that a driver's account was created
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get]
{{- if .Values.networkPolicy.enabled }}
# one for each run, by its name
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, create, delete]
{{- end }}
{{- if eq .Values.rbac.secrets "Any" }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- else if eq .Values.rbac.secrets "Named" }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames:
    {{- toYaml .Values.rbac.secretNames | nindent 4 }}
  verbs: [get]
{{- end }}
{{- end -}}

{{/* Drivers, in the namespace of their table: Spark makes, watches and ends executors, and nothing else. */}}
{{- define "lithify.driverRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete, deletecollection]
{{- end -}}
