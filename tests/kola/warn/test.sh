#!/bin/bash
## kola:
##   description: Verify that a policy in mode Warn decides, says so, and holds nothing.
##   tags: "skewguard platform-independent"
##   exclusive: true
##   timeoutMin: 10

set -euo pipefail

# shellcheck disable=SC1091
. "$KOLA_EXT_DATA/common.sh"

units_loaded
went_on
[[ "$(verdict verdict) $(verdict action) $(verdict reason)" == "Refused Proceed DeniedVersion" ]] || fatal "the verdict is another"
[[ $(shown) == *"denied"* && $(shown) != *"NODE REFUSED"* ]] || fatal "no warning above the login prompt: $(shown)"
ok "warned, and let in"
