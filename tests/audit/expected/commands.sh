mkdir -p objects
oc get clusterversions.config.openshift.io version -o json >objects/clusterversions.config.openshift.io.json || rm objects/clusterversions.config.openshift.io.json
oc get infrastructures.config.openshift.io cluster -o json >objects/infrastructures.config.openshift.io.json || rm objects/infrastructures.config.openshift.io.json
oc get machineconfigurations.operator.openshift.io cluster -o json >objects/machineconfigurations.operator.openshift.io.json || rm objects/machineconfigurations.operator.openshift.io.json
oc get configmaps -n openshift-machine-config-operator coreos-bootimages -o json >objects/configmaps.json || rm objects/configmaps.json
oc get machinesets.machine.openshift.io -A -o json >objects/machinesets.machine.openshift.io.json || rm objects/machinesets.machine.openshift.io.json
oc get controlplanemachinesets.machine.openshift.io -A -o json >objects/controlplanemachinesets.machine.openshift.io.json || rm objects/controlplanemachinesets.machine.openshift.io.json
oc get machines.machine.openshift.io -A -o json >objects/machines.machine.openshift.io.json || rm objects/machines.machine.openshift.io.json
oc get machinesets.cluster.x-k8s.io -A -o json >objects/machinesets.cluster.x-k8s.io.json || rm objects/machinesets.cluster.x-k8s.io.json
oc get machines.cluster.x-k8s.io -A -o json >objects/machines.cluster.x-k8s.io.json || rm objects/machines.cluster.x-k8s.io.json
oc get nodepools.hypershift.openshift.io -A -o json >objects/nodepools.hypershift.openshift.io.json || rm objects/nodepools.hypershift.openshift.io.json
oc get baremetalhosts.metal3.io -A -o json >objects/baremetalhosts.metal3.io.json || rm objects/baremetalhosts.metal3.io.json
oc get bootimagereports.skewguard.dev -A -o json >objects/bootimagereports.skewguard.dev.json || rm objects/bootimagereports.skewguard.dev.json
oc get nodes -A -o json >objects/nodes.json || rm objects/nodes.json
for resource in $(oc api-resources --api-group=infrastructure.cluster.x-k8s.io -o name | grep -E 'machines\.|machinetemplates\.'); do
  oc get $resource -A -o json >objects/$resource.json || rm objects/$resource.json
done
