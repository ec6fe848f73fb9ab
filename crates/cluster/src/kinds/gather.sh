#!/bin/sh
# Gathers into ./objects what `oc skewguard audit --from objects` reads. It gets and lists, and changes nothing in the cluster.
# A kind that the cluster does not have leaves no file. What cannot be read leaves a file that says why; the audit names it.
set -u
mkdir -p objects || exit 1
failed=

# The kinds that the cluster has. Where the list is incomplete, oc says why.
complete=yes
kinds=$(oc api-resources --verbs=list -o name) || complete=no
if [ -z "$kinds" ]; then
  echo "the cluster cannot be read" >&2
  exit 1
fi

# unread KIND FILE: what oc said in objects/.why, in objects/FILE.json, unless the object is not there
unread() {
  ! grep -qF '(NotFound)' objects/.why || return 0
  cat objects/.why >&2
  case "$failed " in *" $1 "*) ;; *) failed="$failed $1" ;; esac
  why=$(tr -c '[:print:]' ' ' <objects/.why | tr '"\\' "''" | cut -c 1-400)
  printf '{"apiVersion":"v1","kind":"Status","status":"Failure","details":{"kind":"%s"},"message":"%s"}\n' "$1" "$why" >>"objects/$2.json"
}

# gather KIND WHICH...: what `oc get` prints, in objects/KIND.json in place of what an earlier run left there
gather() {
  kind=$1
  shift
  rm -f "objects/$kind.json"
  printf '%s\n' "$kinds" | grep -qxF "$kind" || [ $complete = no ] || return 0
  if oc get "$kind" "$@" -o json >objects/.got 2>objects/.why; then
    mv objects/.got "objects/$kind.json"
  else
    unread "$kind" "$kind"
  fi
  rm -f objects/.got objects/.why
}

