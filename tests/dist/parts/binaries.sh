# What dist/build does not check itself.

# Build, transport and commit of one binary.
says() {
    local program=$1 build=$2 transport=$3 wanted
    wanted="skewguard $(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
build: $build, $(uname -m), static musl
transport: $transport
commit: $(git rev-parse --short=12 HEAD)"
    [[ ! $(git status --porcelain --untracked-files=no) ]] || wanted+=-dirty
    diff <(echo "$wanted") <("$program" --version)
}

no_path_of_this_machine() {
    local program=$1 path
    for path in "$PWD" "$HOME" "${CARGO_HOME:-$HOME/.cargo}" "$(rustc --print sysroot)"; do
        ! grep -aqF -e "$path/" "$program" || fail "$program names $path"
    done
    # Where rust-src is installed, the standard library's files have the names that they have where it is not.
    ! grep -aqF /lib/rustlib/src/ "$program" || fail "$program names the place of rust-src"
}

# As dist/skewguard.openvex.json says: iconv.c of musl has these names, and nothing else has.
without_iconv() {
    ! grep -aqE 'euckr|gb18030|ksc5601' "$@" || fail "iconv is linked"
}

# Run where nothing but the toolchain is: says which packages are missing, and builds nothing.
names_what_is_missing() {
    local few=$work/few program status=0 said
    mkdir -p "$few"
    for program in bash cargo rustc dirname; do ln -sf "$(command -v $program)" "$few/"; done
    said=$(PATH=$few CARGO_TARGET_DIR=$work/nothing dist/build 2>&1) || status=$?
    [[ $status == 1 && $said == "dist/build: missing: readelf (Debian: binutils); gzip (Debian: gzip); xz (Debian: xz-utils); musl-gcc (Debian: musl-tools); "* ]] ||
        fail "exit $status: $said"
    [[ ! -e $work/nothing ]] || fail "something was built"
}

wrong_usage() {
    local arguments status
    for arguments in --target --out "--target ''" nonsense; do
        status=0
        eval "dist/build $arguments" >"$work/usage" 2>&1 || status=$?
        [[ $status == 2 ]] && grep -q '^Usage: dist/build' "$work/usage" || fail "dist/build $arguments: exit $status"
    done
}

# Kernel 4.18 is RHEL 8's. The cargo tier has the rest of it; here is the C library that ships.
runs_on_kernel_4_18() {
    local program=$1 tree=tests/trees/rhcos-4.12-refused kernel command status
    for kernel in env tests/old-kernel; do
        rm -rf "$work/node-${kernel##*/}"
        mkdir -p "$work/node-${kernel##*/}"
        cp -a "$tree/." "$work/node-${kernel##*/}"
        for command in check enforce allow; do
            status=0
            $kernel "$program" "$command" --root "$work/node-${kernel##*/}" 2>&1 || status=$?
            echo "exit $status"
        done | sed "s,$work/node-${kernel##*/},ROOT,g" >"$work/said-${kernel##*/}"
    done
    grep -q '^Refused: ' "$work/said-env" && diff "$work/said-env" "$work/said-old-kernel"
}

archive_knows_its_commit() {
    [[ $(git archive HEAD dist/commit | tar -xO) == "$(git show -s --format=$'commit: %H\ndate: %cs' HEAD)" ]]
}

# The budgets of what a cluster stores: alone, and beside 300 KiB of the cluster's own that do not compress away.
within_a_machine_config() {
    local object=$work/machineconfig.yaml rendered=$work/rendered.json sum
    "$dist/kubectl-skewguard" policy init >"$work/policy-size.json"
    head -c 230400 /dev/urandom | base64 -w 0 |
        sed 's/.*/{"kind":"MachineConfig","metadata":{"name":"rendered-worker-0"},"spec":{"config":{"storage":{"files":[{"path":"\/a","contents":{"source":"data:;base64,&"}}]}}}}/' >"$rendered"
    "$dist/kubectl-skewguard" render machineconfig --policy "$work/policy-size.json" --rendered "$rendered" >"$object"
    grep -E ': (fits|DOES NOT FIT), ' "$object"
    (($(wc -c <"$object") <= 680000)) || fail "a MachineConfig of $(wc -c <"$object") bytes"
    sum=$(sed -n 's/^# Machine Config Operator: fits, \([0-9,]*\) of .*/\1/p' "$object")
    ((${sum//,/} <= 1000000)) || fail "$sum bytes beside 300 KiB of the cluster's own"
}

build_once
check "full says build, transport and commit" says "$dist/skewguard" full "rustls (TLS 1.2 and 1.3); /usr/bin/curl on FIPS hosts"
check "embed says build, transport and commit" says "$dist/skewguard-embed" embed "/usr/bin/curl of the node"
check "full names no path of this machine" no_path_of_this_machine "$dist/skewguard"
check "embed names no path of this machine" no_path_of_this_machine "$dist/skewguard-embed"
check "admin names no path of this machine" no_path_of_this_machine "$dist/kubectl-skewguard"
check "no binary has musl's iconv" without_iconv "$dist"/{skewguard,skewguard-embed,kubectl-skewguard}
check "full does the same on kernel 4.18" runs_on_kernel_4_18 "$dist/skewguard"
check "embed does the same on kernel 4.18" runs_on_kernel_4_18 "$dist/skewguard-embed"
check "a MachineConfig with it is within its budgets" within_a_machine_config
check "dist/build names the packages that it misses" names_what_is_missing
check "dist/build explains wrong usage" wrong_usage
check "a source archive knows its commit" archive_knows_its_commit
