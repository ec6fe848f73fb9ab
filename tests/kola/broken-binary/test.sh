#!/bin/bash
## kola:
##   description: Verify that a node whose skewguard cannot run goes on as without skewguard,
##     whatever the policy says.
##   # What unpacks a broken binary may have failed, and says so.
##   tags: "skewguard platform-independent skip-base-checks"
##   exclusive: true
##   timeoutMin: 10

set -euo pipefail

# shellcheck disable=SC1091
. "$KOLA_EXT_DATA/common.sh"

units_loaded
went_on
[[ ! -e /run/skewguard/verdict.json ]] || fatal "it ran: $(verdict verdict)"
[[ $(systemctl show -p LoadState,ActiveState skewguard.service | sort | paste -sd ' ') == "ActiveState=active LoadState=loaded" ]] || fatal "skewguard.service failed"
[[ $(shown) != *"NODE REFUSED"* ]] || fatal "a refusal on the console"
ok "not held by what cannot run"
