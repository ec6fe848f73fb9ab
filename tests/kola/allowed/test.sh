#!/bin/bash
## kola:
##   description: Verify that a boot image that the policy allows goes on as without skewguard.
##   tags: "skewguard platform-independent"
##   exclusive: true
##   timeoutMin: 10

set -euo pipefail

# shellcheck disable=SC1091
. "$KOLA_EXT_DATA/common.sh"

units_loaded
went_on
[[ "$(verdict verdict) $(verdict action)" == "Allowed Proceed" ]] || fatal "the verdict is another"
[[ $(systemctl show -p ActiveState,Result skewguard.service | sort | paste -sd ' ') == "ActiveState=active Result=success" ]] || fatal "skewguard.service failed"
[[ $(shown) != *"NODE REFUSED"* ]] || fatal "a refusal on the console"
ok "let in, without a word"
