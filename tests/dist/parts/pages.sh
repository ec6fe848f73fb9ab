# Compared with the programs by tests/generated; here: what reads them finds nothing wrong. dist/build has made them.

readable() {
    local warnings
    warnings=$(groff -man -Tutf8 -ww -z "$1" 2>&1)
    [[ ! $warnings ]] || fail "$warnings"
}

completes() {
    local -a COMPREPLY=() COMP_WORDS=(kubectl-skewguard render ma)
    # shellcheck source=/dev/null
    source "$dist/completions/kubectl-skewguard.bash"
    COMP_CWORD=2
    # What bash itself would call.
    local of_bash
    of_bash=$(complete -p kubectl-skewguard)
    of_bash=${of_bash##* -F }
    "${of_bash%% *}" kubectl-skewguard ma render
    [[ " ${COMPREPLY[*]} " == *" machineconfig "* ]] || fail "completes to: ${COMPREPLY[*]-nothing}"
}

# zsh in a terminal of its own, where Tab lists what follows.
completes_zsh() {
    local shown
    mkdir -p "$work/zsh"
    cp "$dist/completions/_kubectl-skewguard" "$work/zsh/"
    zsh -n "$work/zsh/_kubectl-skewguard"
    shown=$(cd "$work/zsh" && zsh -f -c '
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PS1=; fpath=($PWD \$fpath); autoload -U compinit; compinit -u -d $PWD/dump; kubectl-skewguard() { :; }; print READY"
        zpty -r -m shell line "*READY*READY*"
        zpty -w -n shell "kubectl-skewguard render ma"$'"'\\t'"'
        repeat 50; do
            sleep 0.1
            while zpty -r -t shell part; do print -rn -- $part; done
        done
        zpty -d shell')
    [[ $shown == *machineconfig* && $shown == *manifests* ]] || fail "completes to: $shown"
}

completes_fish() {
    local said
    said=$(HOME=$work fish --no-config -c "source $dist/completions/kubectl-skewguard.fish; complete -C 'kubectl-skewguard render ma'")
    [[ $said == *machineconfig*manifests* ]] || fail "completes to: $said"
}

# What kubectl and oc run, as they run it: words, and what to do without one.
completes_for_kubectl() {
    local said
    said=$(PATH=$dist:$PATH dist/kubectl_complete-skewguard render ma | paste -sd ' ')
    [[ $said == *machineconfig*manifests*" :4" ]] || fail "completes to: $said"
    said=$(PATH=$dist:$PATH dist/kubectl_complete-skewguard "" | paste -sd ' ')
    [[ " $said" == *" audit "*" :4" ]] || fail "completes to: $said"
    said=$(PATH=$dist:$PATH dist/kubectl_complete-skewguard no-such-command x)
    [[ $said == ":0" ]] || fail "completes to: $said"
    ! PATH=/usr/bin:/bin dist/kubectl_complete-skewguard "" 2>/dev/null || fail "completes without the program"
}

if needs groff:groff-base; then
    for page in "$dist"/man/*.1; do
        check "groff reads $page" readable "$page"
    done
fi
check "bash completes a subcommand" completes
check "kubectl and oc are told what follows" completes_for_kubectl
if needs zsh:zsh fish:fish; then
    check "zsh completes a subcommand" completes_zsh
    check "fish completes a subcommand" completes_fish
fi
