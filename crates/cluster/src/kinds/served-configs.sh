
# Of the configs that pools serve to new nodes the name and the release alone are kept: they have secrets.
rm -f objects/served-configs.json
of=machineconfiguration.openshift.io
if printf '%s\n' "$kinds" | grep -qxF "machineconfigs.$of"; then
  names=$(oc get "machineconfigpools.$of" -o 'go-template={{range .items}}{{with .spec.configuration}}{{.name}} {{end}}{{with .status.configuration}}{{.name}} {{end}}{{end}}') || names=
  for name in $(printf '%s\n' $names | sort -u); do
    release='{{with .metadata.annotations}}{{with index . "'$of'/release-image-version"}}{{.}}{{end}}{{end}}'
    if version=$(oc get "machineconfigs.$of" "$name" -o "go-template=$release" 2>objects/.why); then
      [ -z "$version" ] || printf '{"apiVersion":"%s/v1","kind":"MachineConfig","metadata":{"name":"%s","annotations":{"%s/release-image-version":"%s"}}}\n' \
        "$of" "$name" "$of" "$version" >>objects/served-configs.json
    else
      unread machineconfigs served-configs
    fi
    rm -f objects/.why
  done
fi
