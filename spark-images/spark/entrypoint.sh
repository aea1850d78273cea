#!/bin/sh
# What a container of the Spark image runs: an executor, as Spark's Kubernetes scheduler starts it (the one
# argument `executor`, all else in the environment), or a command of lithify.
set -eu
[ "${1:-}" = executor ] || exec lithify "$@"

# Options of the JVM come one a variable, numbered from 0.
set --
count=0
while eval "[ -n \"\${SPARK_JAVA_OPT_${count}+given}\" ]"; do
  eval "option=\$SPARK_JAVA_OPT_${count}"
  # Vectors are for MLlib; a module more takes time and a warning.
  [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
  count=$((count + 1))
done

# The jars come first and in a fixed order: that is what the archive of loaded classes is valid for.
jars=$(printf '%s:' "$SPARK_HOME"/jars/*.jar)
"$JAVA_HOME/bin/java" @/opt/java.options "$@" -Xms"$SPARK_EXECUTOR_MEMORY" -Xmx"$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$jars${SPARK_CONF_DIR:-$SPARK_HOME/conf}" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
  --podName "$SPARK_EXECUTOR_POD_NAME" &
executor=$!

# This shell outlives the executor. With the first process of a container all others end, also the kubelet's hook
# before it stops the container (decom.sh), and an Event would call every good executor a failure.
asked=
trap 'asked=1; kill -s TERM "$executor" 2>/dev/null || :' TERM INT
code=0
wait "$executor" || code=$?
while kill -s 0 "$executor" 2>/dev/null; do # the wait was interrupted
  code=0
  wait "$executor" || code=$?
done

# The driver deletes the pods of executors as it lets them end: the hook runs now, or comes within seconds.
moments=25
while [ -z "$asked" ] && [ "$moments" -gt 0 ]; do
  sleep 0.2
  moments=$((moments - 1))
done
while grep -qs '[/]decom.sh' /proc/[0-9]*/cmdline; do sleep 0.2; done
exit "$code"
