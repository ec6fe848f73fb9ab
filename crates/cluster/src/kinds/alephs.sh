#!/bin/sh
# Collects the aleph file of each joined node into ./objects, beside what gather.sh writes there; `oc skewguard audit --from objects` reads
# both. An aleph names the boot image that a node was made from. Nothing is changed on the nodes, and skewguard need not be on them.
# Usage: sh alephs.sh [NODE...]   Without names: all Linux nodes. What was collected is not asked for again: run it again for what is left.
set -u
mkdir -p objects || exit 1

on_node='for file in /sysroot/.coreos-aleph-version.json /sysroot/.aleph-version.json /sysroot/.bootc-aleph.json; do
  [ -s $file ] && exec cat $file
done
echo "there is no aleph file" >&2
exit 1'

nodes=$*
[ -n "$nodes" ] || nodes=$(oc get nodes -l kubernetes.io/os=linux -o name) || exit 1
limit=$(command -v timeout) && limit="$limit 300"
left=
for node in $nodes; do
  node=${node#node/}
  file=objects/$node.aleph.json
  [ -s "$file" ] && continue
  echo "$node" >&2
  # No node keeps the others waiting: one that is down, or that runs no debug pod, is named below.
  if $limit oc debug --quiet "node/$node" -- chroot /host sh -c "$on_node" </dev/null >objects/.got && [ -s objects/.got ]; then
    mv objects/.got "$file"
  else
    left="$left $node"
  fi
  rm -f objects/.got
done

[ -z "$left" ] && exit 0
echo "without an aleph file:$left" >&2
exit 1
