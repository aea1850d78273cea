#!/usr/bin/env bash
# Moves the test cluster to another version of Kubernetes: ./update.sh 1.34.4 3.6.4 1.12.4 (Kubernetes, etcd, CoreDNS).
# Run by hand; go.mod and go.sum are committed. k8s.io/kubernetes asks for its own staging modules at v0.0.0,
# which do not exist, so each needs a replacement by the version that was published with it.
set -euo pipefail
cd "$(dirname "$0")"
kubernetes=${1:?which version of Kubernetes} etcd=${2:?which version of etcd} coredns=${3:?which version of CoreDNS}
rm -f go.mod go.sum
go mod init lithify.dev/tests/cluster
upstream=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
go mod edit -go="$(awk '$1 == "go" {print $2}' "$upstream")" \
  -godebug="$(awk '$1 == "godebug" {print $2}' "$upstream")" \
  -require="k8s.io/kubernetes@v$kubernetes" -require="go.etcd.io/etcd/server/v3@v$etcd" \
  -require="github.com/coredns/coredns@v$coredns"
for module in $(awk '$2 == "v0.0.0" {print $1}' "$upstream"); do
  go mod edit -replace="$module=$module@v0.${kubernetes#1.}"
done
go mod tidy
