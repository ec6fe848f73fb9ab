# Generated (tests/generated); here: what reads them finds nothing wrong.

readable() {
    local warnings
    warnings=$(groff -man -Tutf8 -ww -z "$1" 2>&1)
    [[ ! $warnings ]] || fail "$warnings"
}

completes() {
    local -a COMPREPLY=() COMP_WORDS=(skewguard render ma) 
    # shellcheck source=/dev/null
    source dist/completions/skewguard.bash
    COMP_CWORD=2
    _skewguard skewguard ma render
    [[ " ${COMPREPLY[*]} " == *" machineconfig "* ]] || fail "completes to: ${COMPREPLY[*]-nothing}"
}

if needs groff:groff-base; then
    for page in dist/man/*.1; do
        check "groff reads $page" readable "$page"
    done
fi
check "bash completes a subcommand" completes
