# README.md, docs/quick-start.md and docs/install.md as a new user follows them: every command of each, in its order, in a clone. Programs of a cluster
# are stand-ins that refuse what a cluster would (tests/dist/stand-in); dist/build has run already. At the end, after "Uninstalling" of install.md, the
# cluster has nothing of ours.

readonly desk=$work/desk cluster=$work/cluster

# The commands of a page, one shell script per block.
blocks() {
    awk -v to="$2" '
        /^ *```sh$/ { n++; file = sprintf("%s/%02d.sh", to, n); match($0, /^ */); indent = RLENGTH; printf "" >file; next }
        /^ *```$/ { file = ""; next }
        file { print substr($0, indent + 1) >>file }' "$1"
}

# On the first two pages there is nothing but commands, which are run here, and outputs, which tests/generated compares.
commands_and_outputs() {
    local page
    for page in README.md docs/quick-start.md; do
        awk '/^ *```/ { if (!within && !/```(sh|text)$/) { print FILENAME ": neither command nor output: line " FNR; bad = 1 } within = !within } END { exit bad }' "$page"
    done
}

prepare() {
    local program page
    git clone -q . "$desk"
    files_now | tar -x -C "$desk"
    mkdir -p "$desk/target/dist" "$cluster" "$work"/{programs,home,readme,install,quick-start,first-desk/dist,first-cluster}
    cp -r "$dist"/{skewguard,skewguard-embed,kubectl-skewguard}{,.licences.txt} "$dist"/{man,completions} "$desk/target/dist/"
    # Both have run, or run now: it is one of their tiers that does this.
    [[ -x $desk/dist/build && -x $desk/tests/run ]]
    printf '#!/bin/sh\n' >"$desk/dist/build"
    printf '#!/bin/sh\n' >"$desk/tests/run"
    cp "$desk/dist/build" "$work/first-desk/dist/"
    ln -s "$desk/target" "$work/first-desk/target"
    for program in cargo oc butane podman coreos-installer; do ln -s "$PWD/tests/dist/stand-in" "$work/programs/$program"; done
    # What the page takes for granted: a node's aleph, the cluster's pointer, an ISO.
    cp tests/data/aleph/b2-osbuild-container.json "$desk/aleph.json"
    echo '{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://api-int.c.example.com:22623/config/worker"}]}}}' >"$desk/worker.ign"
    : >"$desk/rhcos-live.iso"
    : >"$desk/rhcos-live-initramfs.img"
    for page in README docs/quick-start docs/install; do
        blocks "$page.md" "$work/$(basename "${page,,}")"
        [[ $(find "$work/$(basename "${page,,}")" -name '*.sh' | wc -l) == $(grep -c '```sh' "$page.md") ]]
    done
}

# follow FOLDER CLUSTER BLOCK: with the environment that the blocks before it have left in this folder.
follow() {
    (
        export HOME=$work/home CLUSTER=$2 OBJECTS=$desk/tests/data/audit/aws.json
        PATH=$work/programs:$PATH
        cd "$1"
        # shellcheck source=/dev/null
        [[ ! -e $1.environment ]] || source "$1.environment"
        set -o pipefail
        # shellcheck source=/dev/null
        source "$3" || exit
        export -p | grep '^declare -x PATH=' >"$1.environment"
    )
}

# Check and audit answer by their exit statuses, too (docs/reference.md).
answered() {
    local status=0
    follow "$@" || status=$?
    ((status == 3 || status == 4)) || fail "exit status $status, where sample node and sets would be refused"
}

# of_page PAGE FOLDER CLUSTER
of_page() {
    local block command name=${1%.md}
    name=$(basename "${name,,}")
    for block in "$work/$name"/*.sh; do
        command=follow
        if grep -qxE 'oc skewguard audit|cargo run .* -- (audit|check) .*' "$block"; then command=answered; fi
        check "$1: $(grep -v '^ *#' "$block" | head -n 1 | cut -c -100)" "$command" "$2" "$3" "$block"
    done
}

nothing_left() {
    [[ ! $(ls -A "$cluster") ]] || fail "still in the cluster: $(ls "$cluster")"
}

if needs git:git python3:python3 rpmbuild:rpm ignition-validate:ignition; then
    build_once
    check "a desk to work at" prepare
    check "README.md and quick-start.md have commands and outputs alone" commands_and_outputs
    of_page README.md "$desk" "$work/first-cluster"
    of_page quick-start.md "$work/first-desk" "$work/first-cluster"
    rm "$desk.environment"
    of_page install.md "$desk" "$cluster"
    check "install.md: after uninstalling nothing is left in the cluster" nothing_left
fi
