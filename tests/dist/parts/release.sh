# dist/release: what it does not release, before it builds anything; and what it writes, with a stand-in for the build.

readonly clone=$work/release
release_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# A checkout of its own, of the files as they are now, with a changelog for this version and its tag.
released() {
    mkdir -p "$clone"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
        tar -c --null -T - | tar -x -C "$clone"
    git -C "$clone" init -q
    sed -i "0,/^## .*/s//## [$release_version] - 2026-01-01/" "$clone/CHANGELOG.md"
    record && git -C "$clone" tag "v$release_version"
}
record() { git -C "$clone" add -A && git -C "$clone" -c user.name=x -c user.email=x@example.com commit -qm x; }

# refuses WORDS ARGUMENT...: with exit status 1, these words, and nothing built.
refuses() {
    local words=$1 said status=0
    shift
    said=$(env -u CARGO_TARGET_DIR "$clone/dist/release" "$@" 2>&1) || status=$?
    [[ $status == 1 && $said == "dist/release: $words"* ]] || fail "exit $status: $said"
    [[ ! -e $clone/target ]] || fail "something was built"
}

what_is_not_released() {
    local v=$release_version
    refuses "there is no tag v9.9.9: git tag -s v9.9.9" 9.9.9
    echo >"$clone/new-file"
    refuses "the tree is not clean: ?? new-file; commit it, or take it away" "$v"
    record
    refuses "v$v is not what is checked out: git checkout v$v" "$v"
    git -C "$clone" tag v9.9.9
    refuses "Cargo.toml says version $v, not 9.9.9" 9.9.9
    sed -i "s/^## \\[$v\\] .*/## [Unreleased]/" "$clone/CHANGELOG.md"
    record && git -C "$clone" tag -f "v$v" >/dev/null
    refuses "CHANGELOG.md has no section \"## [$v] - DATE\"" "$v"
    rm -rf "$clone/.git"
    refuses "this is no git checkout: a release is made from its tag" "$v"
}

# What dist/build leaves, of files that say for which architecture they are.
stubbed() {
    cat >"$clone/dist/build" <<'END'
#!/bin/bash
set -eu
[[ $1 == --target && $3 == --out && $SKEWGUARD_RELEASE ]]
mkdir -p "$4"
for name in skewguard skewguard-embed kubectl-skewguard; do
    printf '#!/bin/sh\necho %s %s\n' "$name" "$2" >"$4/$name"
    chmod 755 "$4/$name"
    echo "{\"name\": \"$name\"}" >"$4/$name.cdx.json"
    echo "licences of $name" >"$4/$name.licences.txt"
done
mkdir "$4/man" "$4/completions"
for file in man/{skewguard,kubectl-skewguard}.1 completions/{kubectl-skewguard.bash,_kubectl-skewguard,kubectl-skewguard.fish}; do
    echo "$file" >"$4/$file"
done
END
    record && git -C "$clone" tag -f "v$release_version" >/dev/null
}

what_is_released() {
    local v=$release_version arch file
    (umask 077 && "$clone/dist/release" "$v" --out "$work/first")
    sleep 1
    (cd / && HOME=$work TZ=Asia/Tokyo "$clone/dist/release" "$v" --out "$work/second" --target x86_64 --target aarch64)
    diff -r "$work/first" "$work/second" || fail "two runs differ"
    diff <(cd "$work/first" && ls) <(sort <<END
CHANGELOG-$v.md
SHA256SUMS
skewguard-$v-1.aarch64.rpm
skewguard-$v-1.x86_64.rpm
skewguard-$v-aarch64.cdx.json
skewguard-$v-aarch64.tar.gz
skewguard-$v-x86_64.cdx.json
skewguard-$v-x86_64.tar.gz
skewguard-$v.tar.gz
skewguard-cli-$v-1.aarch64.rpm
skewguard-cli-$v-1.x86_64.rpm
skewguard-cli-$v-aarch64.cdx.json
skewguard-cli-$v-aarch64.oci.tar
skewguard-cli-$v-x86_64.cdx.json
skewguard-cli-$v-x86_64.oci.tar
skewguard-embed-$v-aarch64.cdx.json
skewguard-embed-$v-x86_64.cdx.json
END
    )
    (cd "$work/first" && sha256sum --quiet --check SHA256SUMS && [[ $(wc -l <SHA256SUMS) == 16 ]])
    for arch in x86_64 aarch64; do
        mkdir "$work/$arch-tar"
        tar -xf "$work/first/skewguard-$v-$arch.tar.gz" -C "$work/$arch-tar"
        (
            cd "$work/$arch-tar/skewguard-$v-$arch"
            for file in skewguard skewguard-embed kubectl-skewguard; do [[ $("./$file") == "$file $arch" ]]; done
            for file in LICENSE THIRD-PARTY-LICENCES README.md CHANGELOG.md CONTRIBUTING.md docs/install.md docs/dev/size.md docs/refused.png systemd/skewguard.service \
                manifests/base/crd.yaml man/skewguard.1 completions/_kubectl-skewguard skewguard.catalog skewguard.cdx.json skewguard-embed.cdx.json kubectl-skewguard.cdx.json; do
                [[ -s $file ]] || fail "$file is not in the tarball"
            done
        )
        [[ $(rpm -qp --qf '%{ARCH}' "$work/first/skewguard-cli-$v-1.$arch.rpm") == "$arch" ]]
    done
    [[ $(head -n 1 "$work/first/CHANGELOG-$v.md") != "## "* && -s $work/first/CHANGELOG-$v.md ]]
}

# Another program reads the archive as a container image.
an_image() {
    local store=(--storage-driver vfs --root "$work/release-store" --runroot "$work/release-run") name mounted
    buildah "${store[@]}" pull "oci-archive:$work/first/skewguard-cli-$release_version-x86_64.oci.tar" >"$work/image-id"
    name=$(buildah "${store[@]}" from --pull-never "$(tail -n 1 "$work/image-id")")
    mounted=$(buildah "${store[@]}" mount "$name")
    [[ $("$mounted/usr/bin/kubectl-skewguard") == "kubectl-skewguard x86_64" && -x $mounted/usr/libexec/skewguard/skewguard-embed ]]
    [[ $(buildah "${store[@]}" inspect --format '{{.OCIv1.Architecture}} {{.OCIv1.Config.Entrypoint}}' "$name") == "amd64 [/usr/bin/kubectl-skewguard]" ]]
}

if needs root git:git rpmbuild:rpm python3:python3 buildah:buildah; then
    check "a checkout with its tag" released
    check "a stand-in for the build" stubbed
    check "dist/release writes what it says, twice the same, whoever calls it" what_is_released
    check "the container image is one, and has both binaries" an_image
    check "dist/release refuses a dirty tree, a missing tag, another version, no changelog" what_is_not_released
fi
