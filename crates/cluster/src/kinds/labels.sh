#!/bin/sh
# Makes joined nodes label themselves with the boot image that they were made from: one after another, and without a reboot.
# Usage: sh labels.sh [NODE...]   Without names: all Linux nodes that have no label. Run it again for what is left.
# skewguard's files have to be on the nodes already (the MachineConfig is rolled out).
set -u

unlabelled() {
  oc get nodes -l 'kubernetes.io/os=linux,!skewguard.dev/boot-image' -o name
}

# On the node: unpacks the program if that was left for the next boot, and has it report. On a joined node the report ends when the
# label is there.
on_node='systemctl daemon-reload
if ! test -x /usr/local/bin/skewguard && ! test -x /usr/bin/skewguard; then
  systemctl start skewguard-unpack-later.service || exit 1
fi
systemctl start skewguard-report.service || exit 1
n=0
while systemctl is-active -q skewguard-report.service && [ $n -lt 60 ]; do sleep 1; n=$((n + 1)); done'

nodes=$*
[ -n "$nodes" ] || nodes=$(unlabelled) || exit 1
limit=$(command -v timeout) && limit="$limit 300"
for node in $nodes; do
  node=${node#node/}
  echo "$node" >&2
  # No node keeps the others waiting: one that is down, or that runs no debug pod, is named below.
  $limit oc debug --quiet "node/$node" -- chroot /host sh -c "$on_node" </dev/null || echo "$node: failed" >&2
done

all=$(unlabelled) || exit 1
asked=" $(echo $nodes) " left=
for node in $all; do
  case $asked in *" $node "* | *" ${node#node/} "*) left="$left $node" ;; esac
done
[ -z "$left" ] && exit 0
echo "without a label:$left" >&2
exit 1
