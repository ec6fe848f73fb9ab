# What `oc skewguard why --from objects` reads beside: certificate requests, health checks, Events, and logs of the machine-config-server,
# the machine-approver and HyperShift's ignition servers.

# keep FILE ARGUMENT...: what `oc` prints, in objects/FILE
keep() {
  file=$1
  shift
  rm -f "objects/$file"
  if oc "$@" >objects/.got 2>objects/.why; then
    mv objects/.got "objects/$file"
  elif ! grep -qF '(NotFound)' objects/.why; then
    cat objects/.why >&2
    failed="$failed $file"
  fi
  rm -f objects/.got objects/.why
}

# logs NAMESPACE LABEL CONTAINER: the log of each pod
logs() {
  for pod in $(oc get pods -n "$1" -l "$2" -o name 2>/dev/null); do
    mkdir -p "objects/namespaces/$1"
    keep "namespaces/$1/${pod#pod/}.log" logs -n "$1" "$pod" -c "$3" --timestamps
  done
}
for namespace in $(oc get pods -A -l app=ignition-server -o 'jsonpath={.items[*].metadata.namespace}' 2>/dev/null | tr ' ' '\n' | sort -u); do
  logs "$namespace" app=ignition-server ignition-server
done
