# Every output that Ignition gets, given to the real one. What Debian's Ignition is too old (or too new) for is held by the table of fields in
# tests/render alone, and said.

readonly ignition=/usr/lib/dracut/modules.d/30ignition/ignition out=$work/ignition
readonly SPECS=(2.2.0 3.0.0 3.1.0 3.2.0 3.3.0 3.4.0 3.5.0)

render() { "$dist/kubectl-skewguard" render "$@"; }

# All outputs of one spec, in files named for it.
rendered() {
    local spec=$1 version hash append=merge
    hash=$(sha512sum "$dist/skewguard" | cut -c -128)
    [[ $spec != 2.* ]] || append=append
    render ignition --spec "$spec" --policy "$out/policy.json" --policy-only >"$out/$spec-policy.ign"
    render ignition --spec "$spec" --policy "$out/policy.json" --binary "$dist/skewguard-embed" >"$out/$spec-binary.ign"
    render pointer --spec "$spec" --url "$url/skewguard" --sha512 "$hash" >"$out/$spec-pointer.ign"
    render pointer --spec "$spec" --url "$url/skewguard" --sha512 "${hash//[0-9]/0}" >"$out/$spec-wrong.ign"
    echo "{\"ignition\":{\"version\":\"$spec\",\"config\":{\"$append\":[{\"source\":\"$url/served.ign\"}]}}}" >"$out/$spec-user-data"
    render pointer --user-data "$out/$spec-user-data" --url "$url/skewguard" --sha512 "$hash" >"$out/$spec-merged.ign"
    for version in "$out/$spec"-*.ign; do
        grep -q "^{\"ignition\":{.*\"version\":\"$spec\"" "$version" || fail "$version is of another spec"
    done
}

# The Ignition config inside of a MachineConfig is what the Machine Config Server serves.
config_in() {
    # Debian's, which has the package python3-yaml.
    /usr/bin/python3 -c '
import json, sys, yaml
json.dump(yaml.safe_load(sys.stdin)["spec"]["config"], sys.stdout)'
}

machineconfig() {
    render machineconfig --policy "$out/policy.json" --binary "$dist/skewguard-embed" | config_in >"$out/machineconfig.ign"
    render machineconfig --policy "$out/policy.json" --policy-only | config_in >"$out/policy-only.ign"
}

# Runs Ignition's stages on a folder, as in the initramfs. This Ignition always labels what it writes: a policy without contexts will do.
execute() {
    local config=$1 root=$2 stage
    rm -rf "$root"
    mkdir -p "$root/etc/selinux/targeted/contexts/files" "$out/bin"
    echo SELINUXTYPE=targeted >"$root/etc/selinux/config"
    : >"$root/etc/selinux/targeted/contexts/files/file_contexts"
    ln -sf /bin/true "$out/bin/setfiles"
    for stage in fetch files; do
        PATH=$out/bin:$PATH IGNITION_CONFIG_FILE=$config timeout 60 "$ignition" --platform=file --stage=$stage --root="$root" --log-to-stdout \
            --config-cache="$root/cache" || fail "Ignition fails in stage $stage"
    done
}

has_policy() { cmp "$out/policy.json" "$1/etc/skewguard/policy.json"; }

has_binary() {
    xz -dc "$1/etc/skewguard/skewguard.xz" | cmp - "$dist/skewguard-embed"
    [[ $(stat -c %a "$1/etc/skewguard/skewguard.xz") == 644 ]]
}

# has_units ROOT PROGRAM UNIT...
has_units() {
    local root=$1 program=$2 unit
    shift 2
    for unit; do
        [[ -s $root/etc/systemd/system/$unit.service ]] || fail "no $unit.service"
        grep -qx "enable $unit.service" "$root"/etc/systemd/system-preset/*.preset || fail "$unit.service is not enabled"
    done
    grep -q "^ExecStart=.*$program enforce" "$root/etc/systemd/system/skewguard.service" || fail "skewguard.service does not run $program"
}

policy_only() {
    execute "$out/$1-policy.ign" "$out/root"
    has_policy "$out/root"
    [[ ! -e $out/root/etc/systemd ]] || fail "units without a binary"
}

binary() {
    execute "$1" "$out/root"
    has_policy "$out/root"
    has_binary "$out/root"
    has_units "$out/root" /run/skewguard/bin/skewguard skewguard skewguard-report skewguard-unpack skewguard-unpack-later
}

# Fetches the full binary over HTTP.
pointer() {
    execute "$1" "$out/root"
    cmp "$dist/skewguard" "$out/root/usr/local/bin/skewguard"
    [[ $(stat -c %a "$out/root/usr/local/bin/skewguard") == 755 ]] || fail "it cannot be executed"
    has_units "$out/root" /usr/local/bin/skewguard skewguard skewguard-report
}

# As it is meant: the pointer in user data, the policy from the cluster.
merged() {
    cp "$out/policy-only.ign" "$out/served/served.ign"
    pointer "$1"
    has_policy "$out/root"
}

# Delivered both ways: what the cluster serves wins over user data, and the units are there once.
both_ways() {
    cp "$out/machineconfig.ign" "$out/served/served.ign"
    binary "$1"
}

# What a server that appends a policy answers for this spec (tests/data/served), with the agent that ships.
served() {
    local spec=$1 case
    mkdir -p "$out/appended"
    tests/boot/served "$out/machineconfig.ign" "$out/appended"
    for case in wiring-a wiring-b hypershift; do
        # All that the server's conversion changes between specs that have every field.
        sed "0,/\"version\": \"3[.0-9]*\"/s//\"version\": \"$spec\"/" "$out/appended/$case.after.json" >"$out/$spec-$case.ign"
        ignition-validate "$out/$spec-$case.ign"
        execute "$out/$spec-$case.ign" "$out/root"
        has_binary "$out/root"
        has_units "$out/root" /run/skewguard/bin/skewguard skewguard skewguard-report skewguard-unpack skewguard-unpack-later
        diff <(jq -S . "$out/root/etc/skewguard/policy.json") <(jq -S . "tests/data/served/$case.policy.json")
        jq -e '.spec.config == {"ignition": {"version": "3.2.0"}}' "$out/root/etc/ignition-machine-config-encapsulated.json"
    done
}

wrong_hash() {
    local status=0
    (execute "$1" "$out/root") || status=$?
    [[ $status != 0 && ! -e $out/root/usr/local/bin/skewguard ]] || fail "Ignition takes a binary with another hash"
}

# What unpacks it, as the unit does but under a folder that is not /run.
unpacks() {
    local unit=$out/root/etc/systemd/system/skewguard-unpack.service command
    binary "$out/machineconfig.ign"
    sed -n 's/^ExecStart=//p' "$unit" | sed "s#/etc/skewguard#$out/root/etc/skewguard#g; s#/run/skewguard#$out/run#g" >"$out/unpack"
    [[ $(wc -l <"$out/unpack") == 6 ]]
    while IFS= read -r command; do
        # A `-` in front: its failure does not count (systemd.service(5)); chcon fails where there is no SELinux.
        if [[ $command == -* ]]; then sh -c "${command#-}" || :; else sh -c "$command"; fi
    done <"$out/unpack"
    cmp "$out/run/bin/skewguard" "$dist/skewguard-embed"
    "$out/run/bin/skewguard" -V
}

# A web server for the pointer; it ends with this script.
serve() {
    mkdir -p "$out/served"
    ln -f "$dist/skewguard" "$out/served/skewguard" 2>/dev/null || cp "$dist/skewguard" "$out/served/skewguard"
    python3 -u -c '
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port)
server.serve_forever()' "$out/served" >"$out/port" 2>/dev/null &
    server=$!
    until [[ -s $out/port ]]; do
        kill -0 $server 2>/dev/null || fail "the web server for the pointer does not start"
        sleep 0.05
    done
    url=http://127.0.0.1:$(<"$out/port")
}

if needs ignition-validate:ignition "$ignition:ignition" jq:jq /usr/bin/python3:python3-yaml; then
    build_once
    mkdir -p "$out"
    "$dist/kubectl-skewguard" policy init >"$out/policy.json" 2>/dev/null
    serve
    check "MachineConfig, and the Ignition config in it" machineconfig
    check "MachineConfig: ignition-validate accepts it" ignition-validate "$out/machineconfig.ign"
    check "MachineConfig, the policy alone: ignition-validate accepts it" ignition-validate "$out/policy-only.ign"
    check "MachineConfig: Ignition writes it, and what is written unpacks to the embed build" unpacks
    executed=0
    for spec in "${SPECS[@]}"; do
        check "spec $spec: every output is rendered" rendered "$spec"
        if ! ignition-validate <(echo "{\"ignition\":{\"version\":\"$spec\"}}") >/dev/null 2>&1; then
            echo "--  spec $spec: unknown to $(dpkg-query -W -f '${Package} ${Version}' ignition); held by tests/data/ignition-fields.tsv"
            continue
        fi
        executed=$((executed + 1))
        for output in policy binary pointer merged; do
            check "spec $spec: ignition-validate accepts the $output" ignition-validate "$out/$spec-$output.ign"
        done
        check "spec $spec: Ignition writes what a server that appends the policy answers" served "$spec"
        check "spec $spec: Ignition writes the policy alone" policy_only "$spec"
        check "spec $spec: Ignition writes policy, binary, units" binary "$out/$spec-binary.ign"
        check "spec $spec: Ignition fetches what the pointer names" pointer "$out/$spec-pointer.ign"
        check "spec $spec: the pointer in user data, the policy from the cluster" merged "$out/$spec-merged.ign"
        check "spec $spec: a pointer and a MachineConfig with the binary: the latter wins" both_ways "$out/$spec-merged.ign"
        check "spec $spec: Ignition refuses another binary at that URL" wrong_hash "$out/$spec-wrong.ign"
    done
    check "Ignition knew 3.0.0 to 3.3.0 at least" test "$executed" -ge 4
    kill $server
    server=
fi
