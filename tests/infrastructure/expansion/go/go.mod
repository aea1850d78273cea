module lithify.dev/tests/expansion

go 1.24.0

require k8s.io/kubernetes v1.34.4
