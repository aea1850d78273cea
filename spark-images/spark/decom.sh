#!/bin/sh
# Run by the kubelet before it stops an executor: Spark is told to give the executor no more tasks, and to move on
# what others may still need. Waits until the executor has ended; the pod's grace period is the limit.
executor=
for process in /proc/[0-9]*; do
  if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q ' org.apache.spark.*.KubernetesExecutorBackend '; then
    executor=${process#/proc/}
    kill -s PWR "$executor"
  fi
done
while [ -n "$executor" ] && [ -e "/proc/$executor" ]; do sleep 0.2; done
