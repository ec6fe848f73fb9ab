# shellcheck shell=bash
# For the tests beside: what ran, what is shown, and how the units of the first boot are.

readonly UNITS=(machine-config-daemon-pull.service machine-config-daemon-firstboot.service kubelet.service)
# What the units of the config note, in their order.
readonly NOTES=/var/log/skewguard-kola

ok() { echo "ok $*"; }

fatal() {
    echo "$*" >&2
    systemctl --no-pager show -p Id,LoadState,ActiveState,Result skewguard.service "${UNITS[@]}" >&2 || :
    journalctl --no-pager -b -u 'skewguard*' >&2 || :
    exit 1
}

ran() { paste -sd ' ' "$NOTES" 2>/dev/null || :; }

# What a person sees before the login prompt. agetty shows it from util-linux 2.35 on.
shown() { agetty --show-issue 2>/dev/null || cat /etc/issue /etc/issue.d/* /run/issue.d/* 2>/dev/null || :; }

# verdict KEY: the string that the verdict has there.
verdict() { grep -o "\"$1\": *\"[^\"]*\"" /run/skewguard/verdict.json 2>/dev/null | head -n 1 | sed 's/.*: *"\(.*\)"/\1/' || :; }

# Units that are not there are held by nobody.
units_loaded() {
    local unit
    for unit in "${UNITS[@]}"; do
        [[ $(systemctl show -p LoadState "$unit") == LoadState=loaded ]] || fatal "$unit is not loaded: the test proves nothing"
    done
}

# Whatever still starts is waited for. The boot of a node that goes on ends with the kubelet.
went_on() {
    local _
    for _ in {1..120}; do
        [[ $(ran) != *kubelet* ]] || break
        sleep 1
    done
    [[ $(ran) == "pull firstboot kubelet" ]] || fatal "ran: $(ran)"
    ok "pull, rebase and kubelet ran, in this order"
}

# Prints where the agent is: in the image, or delivered by Ignition.
agent() {
    local path
    for path in /run/skewguard/bin/skewguard /usr/local/bin/skewguard /usr/bin/skewguard; do
        if [[ -x $path ]]; then
            echo "$path"
            return
        fi
    done
    fatal "there is no skewguard on this node"
}
