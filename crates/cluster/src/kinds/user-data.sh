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
