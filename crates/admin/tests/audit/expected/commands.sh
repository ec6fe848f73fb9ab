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

gather clusterversions.config.openshift.io version
gather infrastructures.config.openshift.io cluster
gather clusteroperators.config.openshift.io machine-config
gather machineconfigurations.operator.openshift.io cluster
gather configmaps -n openshift-machine-config-operator coreos-bootimages
gather machinesets.machine.openshift.io -A
gather controlplanemachinesets.machine.openshift.io -A
gather machines.machine.openshift.io -A
gather provisionings.metal3.io provisioning-configuration
gather osimagestreams.machineconfiguration.openshift.io cluster
gather machineconfigpools.machineconfiguration.openshift.io -A
gather machineconfigs.machineconfiguration.openshift.io --ignore-not-found 99-worker-fips 99-master-fips
gather machinedeployments.cluster.x-k8s.io -A
gather machinesets.cluster.x-k8s.io -A
gather machinepools.cluster.x-k8s.io -A
gather machines.cluster.x-k8s.io -A
gather nodepools.karpenter.sh -A
gather nodeclaims.karpenter.sh -A
gather ec2nodeclasses.karpenter.k8s.aws -A
gather openshiftec2nodeclasses.karpenter.hypershift.openshift.io -A
gather agentserviceconfigs.agent-install.openshift.io -A
gather nodepools.hypershift.openshift.io -A
gather baremetalhosts.metal3.io -A
gather bootimagereports.skewguard.dev -A
gather nodes -A
# Of the machines' user data the Ignition version alone is kept.
rm -f objects/user-data.json
for name in worker-user-data master-user-data; do
  if data=$(oc get secret -n openshift-machine-api "$name" -o 'go-template={{base64decode .data.userData}}' 2>objects/.why); then
    version=$(printf '%s' "$data" | tr -d ' \n' | sed -n 's/.*"version":"\([0-9.]*\)".*/\1/p')
    [ -z "$version" ] || printf '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"%s","namespace":"openshift-machine-api"},"ignitionVersion":"%s"}\n' \
      "$name" "$version" >>objects/user-data.json
  else
    unread secrets user-data
  fi
  rm -f objects/.why
done
rm -f objects/*.infrastructure.cluster.x-k8s.io.json
for kind in $(printf '%s\n' "$kinds" | grep -E 'machines\.infrastructure\.cluster\.x-k8s\.io|machinepools\.infrastructure\.cluster\.x-k8s\.io|machinetemplates\.infrastructure\.cluster\.x-k8s\.io'); do
  gather "$kind" -A
done
if [ -n "$failed" ]; then
  echo "not read:$failed, as audit and why will say" >&2
  exit 1
fi
