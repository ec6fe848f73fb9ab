# The page of `audit -o html` in Chromium: of every platform, with names as long as Kubernetes takes them, and of 200 sets.

readonly pages=$work/page
mkdir -p "$pages"
jq '.items |= map(if .kind == "MachineSet" then .metadata.name |= (. + "-" * 240)[:240] + "z" else . end)' tests/data/audit/aws.json |
    sed 's/openshift-machine-api/clusters-with-a-namespace-that-is-as-long-as-kubernetes-takes-it/g' >"$pages/long.json"
jq '.items += [range(200) as $n | .items[] | select(.kind == "MachineSet") | .metadata.name += "-\($n)"][:200]' tests/data/audit/aws.json >"$pages/many.json"

page() {
    local status=0
    "$dist/kubectl-skewguard" audit --policy tests/data/audit/policy.json --from "$1" -o html >"$2" || status=$?
    # Refused, or all is well.
    ((status == 3 || status == 0)) || fail "exit status $status"
}

seen() {
    local from
    for from in tests/data/audit/{aws,azure,gcp,vsphere,openstack,nutanix,ibm,metal,single-node,cluster-api,hypershift}.json "$pages"/{long,many}.json; do
        page "$from" "$pages/$(basename "$from" .json).html"
    done
    tests/dist/page.py "$pages"/*.html
}

if needs chromium:chromium pdfinfo:poppler-utils jq:jq; then
    check "nothing of a page is cut, on a phone, a laptop and paper" seen
fi
