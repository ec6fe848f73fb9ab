# docs/quick-start.md and docs/install.md as a new user follows them: every command of each, in its order, in a clone. Programs of a cluster are stand-ins that refuse what a
# cluster would (tests/dist/stand-in); dist/build has run already. At the end, after "Uninstalling" of install.md, the cluster has nothing of ours.

readonly desk=$work/desk cluster=$work/cluster

# The commands of a page, one shell script per block.
blocks() {
    awk -v to="$2" '
        /^ *```sh$/ { n++; file = sprintf("%s/%02d.sh", to, n); match($0, /^ */); indent = RLENGTH; printf "" >file; next }
        /^ *```$/ { file = ""; next }
        file { print substr($0, indent + 1) >>file }' "$1"
}

prepare() {
    local program page
    git clone -q . "$desk"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do [[ ! -e $file && ! -h $file ]] || printf '%s\0' "$file"; done |
        tar -c --null -T - | tar -x -C "$desk"
    mkdir -p "$desk/target/dist" "$cluster" "$work"/{programs,home,install,quick-start,first-desk,first-cluster}
    cp -r "$dist"/{skewguard,skewguard-embed,kubectl-skewguard}{,.licences.txt} "$dist"/{man,completions} "$desk/target/dist/"
    printf '#!/bin/sh\n' >"$desk/dist/build"
    for program in oc butane podman coreos-installer; do ln -s "$PWD/tests/dist/stand-in" "$work/programs/$program"; done
    # What the page takes for granted: a node's aleph, the cluster's pointer, an ISO.
    cp tests/data/aleph/b2-osbuild-container.json "$desk/aleph.json"
    echo '{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://api-int.c.example.com:22623/config/worker"}]}}}' >"$desk/worker.ign"
    : >"$desk/rhcos-live.iso"
    : >"$desk/rhcos-live-initramfs.img"
    for page in install quick-start; do
        blocks "docs/$page.md" "$work/$page"
        [[ $(find "$work/$page" -name '*.sh' | wc -l) == $(grep -c '```sh' "docs/$page.md") ]]
    done
}

# With the environment that the blocks before it have left.
follow() {
    (
        export HOME=$work/home CLUSTER=$cluster OBJECTS=$desk/tests/data/audit/aws.json
        PATH=$work/programs:$PATH
        cd "$desk"
        # shellcheck source=/dev/null
        [[ ! -e $work/environment ]] || source "$work/environment"
        set -o pipefail
        # shellcheck source=/dev/null
        source "$1"
        export -p | grep '^declare -x PATH=' >"$work/environment"
    )
}

# The same for the quick start: another cluster, and a release in the PATH.
begin() {
    (
        export HOME=$work/home CLUSTER=$work/first-cluster OBJECTS=$desk/tests/data/audit/aws.json
        PATH=$work/programs:$desk/target/dist:$PATH
        cd "$work/first-desk"
        set -o pipefail
        # shellcheck source=/dev/null
        source "$1"
    )
}

# An audit answers by its exit status, too (docs/reference.md).
audited() {
    local status=0
    begin "$1" || status=$?
    ((status == 3 || status == 4)) || fail "exit status $status, where sets of the sample cluster would be refused"
}

nothing_left() {
    [[ ! $(ls -A "$cluster") ]] || fail "still in the cluster: $(ls "$cluster")"
}

if needs git:git python3:python3 rpmbuild:rpm ignition-validate:ignition; then
    build_once
    check "a desk to work at" prepare
    for block in "$work"/quick-start/*.sh; do
        command=begin
        if [[ $(<"$block") == "oc skewguard audit" ]]; then command=audited; fi
        check "quick-start.md: $(grep -v '^ *#' "$block" | head -n 1 | cut -c -100)" "$command" "$block"
    done
    for block in "$work"/install/*.sh; do
        check "install.md: $(grep -v '^ *#' "$block" | head -n 1 | cut -c -100)" follow "$block"
    done
    check "install.md: after uninstalling nothing is left in the cluster" nothing_left
fi
