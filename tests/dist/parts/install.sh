# The commands of README.md that docs.sh has stand-ins for, by the real cargo and in a clone: both programs are built, and one is installed.

readonly wishes=$work/wishes
mkdir -p "$wishes"

# A line of README.md, as it stands there.
of_readme() { grep -x -m 1 "$1" README.md; }

# asked COMMAND...: what it prints begins with the conclusion, and is an answer about refused sets or nodes (docs/reference.md).
asked() {
    local status=0
    "$@" >"$wishes/said" || status=$?
    ((status == 3)) || fail "exit status $status"
    head -n 1 "$wishes/said" | grep -E '^(Not ready to enforce|Refused): '
}

in_a_clone() {
    git clone -q . "$wishes/clone"
    files_now | tar -x -C "$wishes/clone"
    cd "$wishes/clone"
    # Compiled once for all.
    export CARGO_TARGET_DIR=${dist%/dist} CARGO_INSTALL_ROOT=$wishes/installed
    asked sh -c "$(of_readme 'cargo run .* -- check .*')"
    asked sh -c "$(of_readme 'cargo run .* -- audit .*')"
    sh -c "$(of_readme 'cargo run .* -- why .*')" | grep -x '  \[!\] .*'
    sh -c "$(of_readme 'cargo install .*')"
    asked "$wishes/installed/bin/kubectl-skewguard" audit --policy tests/data/audit/policy.json --from tests/data/audit/aws.json
}

if needs git:git; then
    long "README.md: check, audit and why in a checkout, and the installed command" in_a_clone
fi
