"""The schema of the pod templates in a CompactionPolicy: a PodTemplateSpec of Kubernetes, with bounds."""
