#!/bin/sh
# Run by the kubelet before it stops an executor: Spark is told to give the executor no more tasks, and to move on
# what others may still need. Waits until the executor has ended; the pod's grace period is the limit.
words() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline"; }

executor=
for process in /proc/[0-9]*; do
  if words "${process#/proc/}" | grep -q ' org.apache.spark.*.KubernetesExecutorBackend '; then
    executor=${process#/proc/}
    kill -s PWR "$executor"
  fi
done
while [ -n "$executor" ] && [ -n "$(words "$executor")" ]; do sleep 0.2; done
