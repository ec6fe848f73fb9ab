#!/bin/bash
## kola:
##   description: Verify that skewguard does nothing on a node without the Machine Config Operator,
##     whatever policy lies there.
##   tags: "skewguard platform-independent"
##   exclusive: true
##   timeoutMin: 10

set -euo pipefail

# shellcheck disable=SC1091
. "$KOLA_EXT_DATA/common.sh"

agent >/dev/null
[[ -e /etc/skewguard/policy.json ]] || fatal "no policy: the test proves nothing"
[[ ! -e /etc/ignition-machine-config-encapsulated.json ]] || fatal "a Machine Config Operator's node: the test proves nothing"
for unit in skewguard.service skewguard-report.service; do
    state=$(systemctl show -p LoadState,ActiveState,ConditionResult "$unit" | sort | paste -sd ' ')
    [[ $state == "ActiveState=inactive ConditionResult=no LoadState=loaded" ]] || fatal "$unit: $state"
done
[[ ! -e /run/skewguard/verdict.json && ! -e /run/skewguard/refused ]] || fatal "it decided: $(verdict verdict)"
[[ ! -e /var/lib/skewguard/boot-image.json ]] || fatal "it kept a record"
[[ $(shown) != *skewguard* && $(shown) != *"NODE REFUSED"* ]] || fatal "a word on the console: $(shown)"
ok "no effect without the Machine Config Operator"
