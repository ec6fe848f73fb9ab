#!/bin/bash
## kola:
##   description: Verify that a boot image that the policy denies is held before its rebase,
##     that the console says so, and that `skewguard allow` lets it through.
##   # skewguard.service is failed here, and so is what it holds.
##   tags: "skewguard platform-independent skip-base-checks"
##   exclusive: true
##   timeoutMin: 10

set -euo pipefail

# shellcheck disable=SC1091
. "$KOLA_EXT_DATA/common.sh"

units_loaded
[[ $(systemctl is-failed skewguard.service) == failed ]] || fatal "skewguard.service did not fail"
for unit in "${UNITS[@]}"; do
    [[ $(systemctl show -p ActiveState "$unit") == ActiveState=inactive ]] || fatal "$unit is not held"
done
[[ ! $(ran) ]] || fatal "ran: $(ran)"
ok "the units of the first boot are held"

[[ "$(verdict verdict) $(verdict action) $(verdict reason)" == "Refused Block DeniedVersion" ]] || fatal "the verdict is another"
[[ $(shown) == *"NODE REFUSED"*"skewguard allow"* ]] || fatal "nothing above the login prompt"
ok "the console says why"

# Whoever starts one of them by hand gets the same answer.
! systemctl start kubelet.service 2>/dev/null || fatal "the kubelet could be started"
[[ ! $(ran) ]] || fatal "ran: $(ran)"
ok "a start by hand is held, too"

"$(agent)" allow
went_on
[[ $(shown) != *"NODE REFUSED"* ]] || fatal "the message is still there"
ok "let through"
