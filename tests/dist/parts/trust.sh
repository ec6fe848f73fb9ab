# What the job `sign` of the workflow `release` does, with keys of this run, and what a reader of SECURITY.md does with the result: all without a network.

[[ -e $work/first ]] || source tests/dist/parts/release.sh

readonly published=$work/signed/published keys=$work/keys v=$release_version
cosign_tree=$(dirname "$dist")/tools/cosign
readonly cosign_tree
readonly cosign=$cosign_tree/usr/bin/cosign

# step NAME: the lines of a step of the job `sign`, word for word.
step() {
    python3 - "$1" <<'END'
import sys, yaml
steps = yaml.safe_load(open(".github/workflows/release.yml"))["jobs"]["sign"]["steps"]
print(next(step["run"] for step in steps if step.get("name") == sys.argv[1]))
END
}

# Verified by rpm, with the published key alone.
checked() { rpmkeys --define "_dbpath $keys" --define '_pkgverify_level all' --checksig "$@"; }

digest_of() { rpm -qp --nosignature --qf '%{SHA256HEADER}' "$1"; }

a_key_of_this_run() {
    mkdir -m 700 "$work/gnupg"
    gpg --homedir "$work/gnupg" --batch --quiet --passphrase '' --quick-generate-key 'skewguard <x@example.com>' rsa3072 sign never
    gpg --homedir "$work/gnupg" --batch --quiet --armor --export-secret-keys >"$work/secret"
    gpgconf --homedir "$work/gnupg" --kill all
    mkdir -p "$work/signed" "$keys"
    cp -r "$work/first" "$published"
}

packages_signed() {
    local package lines
    lines=$(step "sign the packages")
    (cd "$work/signed" && RPM_SIGNING_KEY=$(<"$work/secret") bash -ec "$lines")
    for package in "$published"/*.rpm; do ! checked "$package" || fail "signed by nobody that is known: $package"; done
    rpmkeys --define "_dbpath $keys" --import "$published/RPM-GPG-KEY-skewguard"
    (($(ls "$published"/*.rpm | wc -l) == 5))
    for package in "$published"/*.rpm; do
        [[ $(checked "$package") == *": digests signatures OK" ]] || fail "$(checked -v "$package")"
        # The signature is all that is new: anybody can build the same package, and compare. The header has the payload's digest.
        [[ $(digest_of "$package") == "$(digest_of "$work/first/$(basename "$package")")" && $(digest_of "$package") =~ ^[0-9a-f]{64}$ ]]
    done
}

no_other_package() {
    local file=$published/skewguard-$v-1.x86_64.rpm
    ! checked "$work/first/$(basename "$file")" || fail "a package without a signature is accepted"
    cp "$file" "$work/changed.rpm"
    printf x | dd of="$work/changed.rpm" bs=1 seek=$(($(stat -c %s "$file") - 9)) conv=notrunc status=none
    ! checked "$work/changed.rpm" || fail "a changed package is accepted"
}

summed() {
    local lines
    lines=$(step "the sums of what is published")
    (cd "$work/signed" && bash -ec "$lines")
    (cd "$published" && sha256sum --quiet --check SHA256SUMS && diff <(ls) <(sed 's/^[^ ]*  //; $aSHA256SUMS' SHA256SUMS | sort))
}

# Of Debian 13: Debian 12 has none.
real_cosign() {
    mkdir -p "$(dirname "$cosign_tree")"
    [[ -x $cosign ]] || mmdebstrap --quiet --variant=extract --include=cosign trixie "$cosign_tree"
    "$cosign" version >/dev/null
}

attested() {
    tests/dist/sigstore "$work/attested" "$published/SHA256SUMS" "v$v"
    cp "$work/attested/provenance.intoto.jsonl" "$published/skewguard-$v.intoto.jsonl"
    cp "$work/attested/trusted_root.json" "$published/"
    tests/dist/sigstore "$work/others" "$published/SHA256SUMS" "v$v"
}

# verified FILE [WORDS...]: the command of SECURITY.md, of this version and this file; each of WORDS is put in for what is before its =.
verified() {
    local command pair
    command=$(sed -n '/^cosign verify-blob-attestation/,/^```/p' SECURITY.md | sed '/^```/d')
    command=${command//VERSION/$v} command=${command//FILE/$1}
    shift
    for pair; do
        [[ $command == *"${pair%%=*}"* ]] || fail "${pair%%=*} is not in the command"
        command=${command//"${pair%%=*}"/"${pair#*=}"}
    done
    (cd "$published" && HOME=$work/nobody PATH=$(dirname "$cosign"):$PATH unshare --net bash -ec "$command") 2>&1
}

every_file_verified() {
    local file said
    for file in $(sed 's/^[^ ]*  //' "$published/SHA256SUMS"); do
        said=$(verified "$file") || fail "$file: $said"
        [[ $said == *"Verified OK"* ]] || fail "$file: $said"
    done
}

# not_verified WORDS FILE [WORDS...]
not_verified() {
    local words=$1 said
    shift
    ! said=$(verified "$@") || fail "$*: $said"
    [[ $said == *"$words"* ]] || fail "$*: $said"
}

nothing_else_verified() {
    local file=skewguard-$v-x86_64.tar.gz
    echo another >"$published/another"
    not_verified "provided artifact digest does not match" another
    not_verified "expected SAN value" "$file" "refs/tags/v$v=refs/tags/v9.9.9"
    not_verified "expected SAN value" "$file" workflows/release.yml=workflows/ci.yml
    not_verified "expected SAN value" "$file" skewguard/skewguard/.github=somebody/skewguard/.github
    not_verified "issuer" "$file" token.actions.githubusercontent.com=accounts.example.com
    # Signed as well, but by another Sigstore.
    not_verified "not enough verified log entries" "$file" "trusted_root.json=$work/others/trusted_root.json"
    # Other subjects under the same signature.
    python3 - "$published/skewguard-$v.intoto.jsonl" "$work/forged" <<'END'
import base64, json, sys
bundle = json.loads(open(sys.argv[1]).read())
payload = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
payload["subject"][0]["name"] = "forged"
bundle["dsseEnvelope"]["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
open(sys.argv[2], "w").write(json.dumps(bundle))
END
    not_verified "" "$file" "skewguard-$v.intoto.jsonl=$work/forged"
}

if needs root gpg:gpg rpmsign:rpm mmdebstrap:mmdebstrap /usr/lib/python3/dist-packages/cryptography:python3-cryptography /usr/bin/python3:python3-yaml; then
    check "a key of this run, in place of the maintainers'" a_key_of_this_run
    check "the workflow's lines sign the packages, and change nothing else" packages_signed
    check "rpm refuses a package that is not signed, or changed" no_other_package
    check "the workflow's lines sum up all that is published" summed
    check "cosign, of Debian 13" real_cosign
    check "a stand-in for Sigstore attests the provenance" attested
    check "SECURITY.md's command verifies each published file, without a network" every_file_verified
    check "and no other file, tag, workflow, repository, issuer, log or statement" nothing_else_verified
fi
