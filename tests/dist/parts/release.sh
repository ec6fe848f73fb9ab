# dist/release: what it does not release, before it builds anything; and what it writes, with a stand-in for the build.

readonly clone=$work/release
release_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# A checkout of its own, of the files as they are now, with a changelog for this version and its tag.
released() {
    mkdir -p "$clone"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do [[ ! -e $file && ! -h $file ]] || printf '%s\0' "$file"; done |
        tar -c --null -T - | tar -x -C "$clone"
    git -C "$clone" init -q
    sed -i "0,/^## .*/s//## [$release_version] - 2026-01-01/" "$clone/CHANGELOG.md"
    ssh-keygen -q -t ed25519 -N '' -f "$work/signer"
    echo "x@example.com namespaces=\"git\" $(cut -d ' ' -f 1,2 "$work/signer.pub")" >>"$clone/dist/signers"
    record && sign "v$release_version"
}
# sign TAG [KEY]: anew where it is there.
sign() {
    git -C "$clone" -c user.name=x -c user.email=x@example.com -c gpg.format=ssh -c user.signingkey="${2:-$work/signer}" tag -f -s -m "$1" "$1" >/dev/null
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
    git -C "$clone" tag -f "v$v" >/dev/null
    refuses "v$v has no signature of a maintainer (dist/signers): " "$v"
    ssh-keygen -q -t ed25519 -N '' -f "$work/somebody"
    sign "v$v" "$work/somebody"
    refuses "v$v has no signature of a maintainer (dist/signers): " "$v"
    sign "v$v"
    echo >"$clone/new-file"
    refuses "the tree is not clean: ?? new-file; commit it, or take it away" "$v"
    record
    refuses "v$v is not what is checked out: git checkout v$v" "$v"
    sign v9.9.9
    refuses "Cargo.toml says version $v, not 9.9.9" 9.9.9
    sed -i "s/^## \\[$v\\] .*/## [Unreleased]/" "$clone/CHANGELOG.md"
    record && sign "v$v"
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
for build in full:skewguard embed:skewguard-embed admin:kubectl-skewguard; do
    name=${build#*:}
    printf '#!/bin/sh\necho %s %s\n' "$name" "$2" >"$4/$name"
    chmod 755 "$4/$name"
    "${0%/*}/sbom" "${build%:*}" "$2" "$4/$name" >"$4/$name.cdx.json"
    echo "licences of $name" >"$4/$name.licences.txt"
done
mkdir "$4/man" "$4/completions"
mkdir -p "$4"/samples/{cluster,first-boot}
for file in aws.json policy.json cluster/aws.json first-boot/machines.json; do
    echo "$file" >"$4/samples/$file"
done
for file in man/{skewguard,kubectl-skewguard}.1 completions/{kubectl-skewguard.bash,_kubectl-skewguard,kubectl-skewguard.fish}; do
    echo "$file" >"$4/$file"
done
END
    # Vendoring fetches every crate; distribution.sh does it.
    printf '#!/bin/sh\necho crates >"$1"\n' >"$clone/dist/vendor"
    record && sign "v$release_version"
}

what_is_released() {
    local v=$release_version arch file
    (umask 077 && "$clone/dist/release" "$v" --out "$work/first")
    sleep 1
    (cd / && RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} HOME=$work TZ=Asia/Tokyo "$clone/dist/release" "$v" --out "$work/second" --target x86_64 --target aarch64)
    diff -r "$work/first" "$work/second" || fail "two runs differ"
    diff <(cd "$work/first" && ls) <(sort <<END
CHANGELOG-$v.md
SHA256SUMS
skewguard-$v-1.aarch64.rpm
skewguard-$v-1.src.rpm
skewguard-$v-1.x86_64.rpm
skewguard-$v-aarch64.cdx.json
skewguard-$v-aarch64.spdx.json
skewguard-$v-aarch64.tar.gz
skewguard-$v-vendor.tar.zst
skewguard-$v-x86_64.cdx.json
skewguard-$v-x86_64.spdx.json
skewguard-$v-x86_64.tar.gz
skewguard-$v.openvex.json
skewguard-$v.tar.gz
skewguard-cli-$v-1.aarch64.rpm
skewguard-cli-$v-1.x86_64.rpm
skewguard-cli-$v-aarch64.cdx.json
skewguard-cli-$v-aarch64.oci.tar
skewguard-cli-$v-aarch64.spdx.json
skewguard-cli-$v-x86_64.cdx.json
skewguard-cli-$v-x86_64.oci.tar
skewguard-cli-$v-x86_64.spdx.json
skewguard-embed-$v-aarch64.cdx.json
skewguard-embed-$v-aarch64.spdx.json
skewguard-embed-$v-x86_64.cdx.json
skewguard-embed-$v-x86_64.spdx.json
skewguard.yaml
END
    )
    (cd "$work/first" && sha256sum --quiet --check SHA256SUMS && [[ $(wc -l <SHA256SUMS) == 26 ]])
    for arch in x86_64 aarch64; do
        mkdir "$work/$arch-tar"
        tar -xf "$work/first/skewguard-$v-$arch.tar.gz" -C "$work/$arch-tar"
        (
            cd "$work/$arch-tar/skewguard-$v-$arch"
            for file in skewguard skewguard-embed kubectl-skewguard; do [[ $("./$file") == "$file $arch" ]]; done
            for file in LICENSE THIRD-PARTY-LICENCES README.md CHANGELOG.md CONTRIBUTING.md docs/install.md docs/dev/size.md docs/refused.png systemd/skewguard.service \
                manifests/base/crd.yaml samples/aws.json samples/policy.json samples/cluster/aws.json samples/first-boot/machines.json man/skewguard.1 completions/_kubectl-skewguard skewguard.catalog kubectl_complete-skewguard skewguard.cdx.json skewguard-embed.cdx.json kubectl-skewguard.cdx.json; do
                [[ -s $file ]] || fail "$file is not in the tarball"
            done
        )
        [[ $(rpm -qp --qf '%{ARCH}' "$work/first/skewguard-cli-$v-1.$arch.rpm") == "$arch" ]]
    done
    installed_by_krew
    # Both sources and the spec, and no path of this machine.
    diff <(rpm -qlp "$work/first/skewguard-$v-1.src.rpm") <(printf '%s\n' "skewguard-$v-vendor.tar.zst" "skewguard-$v.tar.gz" skewguard.spec)
    ! rpm2cpio "$work/first/skewguard-$v-1.src.rpm" | cat - "$work/first/skewguard-$v-1.src.rpm" | grep -aF "$work" || fail "a path of this machine"
    bills_of_materials
    [[ $(head -n 1 "$work/first/CHANGELOG-$v.md") != "## "* && -s $work/first/CHANGELOG-$v.md ]]
}

# Each bill describes the binary that is in the tarball, at the time of the commit; its SPDX says the same.
bills_of_materials() {
    python3 - "$release_version" "$(git -C "$clone" show -s --format=%cI HEAD)" "$work" <<'END'
import hashlib, json, sys
from datetime import datetime
from pathlib import Path
version, time, work = sys.argv[1], datetime.fromisoformat(sys.argv[2]), Path(sys.argv[3])
serials = set()
for arch in "x86_64", "aarch64":
    for name, program in {"skewguard": "skewguard", "skewguard-embed": "skewguard-embed", "skewguard-cli": "kubectl-skewguard"}.items():
        bill, other = (json.loads((work / f"first/{name}-{version}-{arch}.{kind}.json").read_text()) for kind in ("cdx", "spdx"))
        digest = hashlib.sha256((work / f"{arch}-tar/skewguard-{version}-{arch}" / program).read_bytes()).hexdigest()
        about, packages = bill["metadata"]["component"], other["packages"]
        assert about["hashes"] == [{"alg": "SHA-256", "content": digest}], about
        assert packages[0]["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}] and packages[0]["licenseDeclared"] == "Apache-2.0", packages[0]
        assert datetime.fromisoformat(bill["metadata"]["timestamp"].replace("Z", "+00:00")) == time, bill["metadata"]["timestamp"]
        assert other["creationInfo"]["created"] == bill["metadata"]["timestamp"]
        assert [(one["name"], one["versionInfo"]) for one in packages[1:]] == [(one["name"], one["version"]) for one in bill["components"]]
        edges = sum(one["relationshipType"] == "DEPENDS_ON" for one in other["relationships"])
        assert edges == sum(len(one["dependsOn"]) for one in bill["dependencies"]) > len(packages), edges
        serials.add(bill["serialNumber"])
assert len(serials) == 6, serials
END
}

# What krew reads of its manifest (internal/index/validation), and what it would unpack; the same with a tarball for macOS beside it.
installed_by_krew() {
    local darwin=skewguard-cli-$release_version-darwin-arm64
    mkdir -p "$work/krew/$darwin"
    cp "$work/first"/*.tar.gz "$work/krew/"
    touch "$work/krew/$darwin"/{kubectl-skewguard,LICENSE}
    tar -czf "$work/krew/$darwin.tar.gz" -C "$work/krew" "$darwin"
    "$clone/dist/krew" "$release_version" "$work/krew" >"$work/krew/skewguard.yaml"
    python3 - "$release_version" "$work/first" linux/amd64,linux/arm64 "$work/krew" linux/amd64,linux/arm64,darwin/arm64 <<'END'
import hashlib, json, re, sys, tarfile
from pathlib import Path
version = sys.argv[1]
for folder, wanted in zip(map(Path, sys.argv[2::2]), sys.argv[3::2]):
    manifest = json.loads((folder / "skewguard.yaml").read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    spec = manifest["spec"]
    assert manifest["metadata"]["name"] == "skewguard" and spec["version"] == f"v{version}" and 0 < len(spec["shortDescription"]) <= 50
    platforms = {"/".join((one["selector"]["matchLabels"][key]) for key in ("os", "arch")): one for one in spec["platforms"]}
    assert ",".join(platforms) == wanted and len(platforms) == len(spec["platforms"]), list(platforms)
    for one in platforms.values():
        file = folder / one["uri"].rpartition("/")[2]
        assert one["uri"] == f"https://github.com/skewguard/skewguard/releases/download/v{version}/{file.name}"
        assert re.fullmatch("[0-9a-f]{64}", one["sha256"]) and one["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        names = tarfile.open(file).getnames()
        assert all(entry["from"] in names and entry["to"] == "." for entry in one["files"]), one["files"]
        assert any(entry["from"].endswith("/" + one["bin"]) for entry in one["files"])
END
}

# Another program reads the archive as a container image.
an_image() {
    local store=(--storage-driver vfs --root "$work/release-store" --runroot "$work/release-run") name mounted
    buildah "${store[@]}" pull "oci-archive:$work/first/skewguard-cli-$release_version-x86_64.oci.tar" >"$work/image-id"
    name=$(buildah "${store[@]}" from --pull-never "$(tail -n 1 "$work/image-id")")
    mounted=$(buildah "${store[@]}" mount "$name")
    [[ $("$mounted/usr/bin/kubectl-skewguard") == "kubectl-skewguard x86_64" && -x $mounted/usr/libexec/skewguard/skewguard-embed ]]
    diff -r "$mounted/usr/share/skewguard/samples" "$work/x86_64-tar/skewguard-$release_version-x86_64/samples"
    [[ $(buildah "${store[@]}" inspect --format '{{.OCIv1.Architecture}} {{.OCIv1.Config.Entrypoint}}' "$name") == "amd64 [/usr/bin/kubectl-skewguard]" ]]
}

if needs root git:git rpmbuild:rpm rpm2cpio:rpm2cpio python3:python3 buildah:buildah zstd:zstd ssh-keygen:openssh-client; then
    check "a checkout with its tag" released
    check "a stand-in for the build" stubbed
    check "dist/release writes what it says, twice the same, whoever calls it" what_is_released
    check "the container image is one, and has both binaries and the samples" an_image
    check "dist/release refuses a dirty tree, a missing tag, one that no maintainer signed, another version, no changelog" what_is_not_released
fi
