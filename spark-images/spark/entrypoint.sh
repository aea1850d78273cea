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
exec "$JAVA_HOME/bin/java" @/opt/java.options "$@" -Xms"$SPARK_EXECUTOR_MEMORY" -Xmx"$SPARK_EXECUTOR_MEMORY" \
  -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$jars${SPARK_CONF_DIR:-$SPARK_HOME/conf}" \
  org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
  --driver-url "$SPARK_DRIVER_URL" \
  --executor-id "$SPARK_EXECUTOR_ID" \
  --cores "$SPARK_EXECUTOR_CORES" \
  --app-id "$SPARK_APPLICATION_ID" \
  --hostname "$SPARK_EXECUTOR_POD_IP" \
  --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
  --podName "$SPARK_EXECUTOR_POD_NAME"
