# The static packages, as releases have them, around the binaries that dist/build made. static.sh builds them from a source archive; what a distribution
# builds of the same spec is in distribution.sh; here the spec is read with the macros of each.

readonly top=$work/rpm tree=$work/tree
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

unpacked() {
    local package
    rm -rf "$tree"
    for package in package cli; do
        mkdir -p "$tree/$package"
        rpm2cpio "$work/$package.rpm" | (cd "$tree/$package" && cpio -idm --quiet)
    done
}

prebuilt() {
    source_archive "$top/SOURCES" "$("$dist/skewguard" --version | sed -n 's/^commit: //p')"
    rpmbuild -bb --quiet --define "_topdir $top" --with prebuilt --define "prebuilt $dist" dist/skewguard.spec
    mv "$top"/RPMS/*/skewguard-[0-9]*.rpm "$work/package.rpm"
    mv "$top"/RPMS/*/skewguard-cli-*.rpm "$work/cli.rpm"
    unpacked
}

query() { rpm -qp --qf "$1" "$work/package.rpm"; }

named() {
    [[ $(query '%{NAME} %{VERSION} %{LICENSE} %{ARCH}') == "skewguard $version $(dist/licences --expression full) $(uname -m)" ]] || fail "$(query '%{NAME} %{VERSION} %{LICENSE} %{ARCH}')"
}

files() {
    rpm -qp --qf '[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES} %{FILELINKTOS}\n]' "$1" |
        # Debian's rpm has the version in this folder's name, Fedora's has not. Documentation and man pages are compared as folders.
        sed "s/ $//; s#/licenses/\(skewguard\(-cli\)\?\)-$version#/licenses/\1#; \#/man1/#d; \#/share/doc/#d"
}

# Presets are applied, and nothing else is done.
scriptlets() {
    diff <(rpm -qp --scripts --triggers --filetriggers "$work/package.rpm") - <<'END'
postinstall scriptlet (using /bin/sh):
if [ $1 -eq 1 ] && command -v systemctl >/dev/null; then systemctl --no-reload preset skewguard.service skewguard-report.service || :; fi
preuninstall scriptlet (using /bin/sh):
if [ $1 -eq 0 ] && command -v systemctl >/dev/null; then systemctl --no-reload disable --now skewguard.service skewguard-report.service || :; fi
postuninstall program: /bin/sh
END
    diff <(rpm -qp --requires "$work/package.rpm" | grep -v '^rpmlib(' | sort -u) <(printf '%s\n' /bin/sh curl)
    [[ ! $(rpm -qp --scripts "$work/cli.rpm") ]]
    diff <(rpm -qp --requires "$work/cli.rpm" | grep -v '^rpmlib(' | sort -u) <(echo /bin/bash)
}

marked() {
    diff <(rpm -qp --licensefiles "$work/package.rpm" | sed 's#.*/##') <(printf '%s\n' LICENSE THIRD-PARTY-LICENCES)
    diff <(rpm -qp --docfiles "$work/package.rpm" | sed -n 's#/usr/share/doc/[^/]*/##p' | sort) <(printf '%s\n' CHANGELOG.md README.md)
    diff <(rpm -qp --docfiles "$work/cli.rpm" | sed -n 's#/usr/share/doc/[^/]*/##p' | sort) <({ printf '%s\n' README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md; find docs -type f; } | sort)
    [[ ! $(rpm -qp --configfiles "$work/package.rpm") ]]
}

# The binaries, and everything that the repository has as a file.
same_bytes() {
    local agent=$tree/package cli=$tree/cli pair
    cmp "$agent/usr/bin/skewguard" "$dist/skewguard"
    cmp "$cli/usr/libexec/skewguard/skewguard-embed" "$dist/skewguard-embed"
    cmp "$cli/usr/bin/kubectl-skewguard" "$dist/kubectl-skewguard"
    for pair in systemd/skewguard.service:lib/systemd/system systemd/skewguard-report.service:lib/systemd/system \
        systemd/80-skewguard.preset:lib/systemd/system-preset dist/skewguard.catalog:lib/systemd/catalog; do
        cmp "${pair%%:*}" "$agent/usr/${pair#*:}/$(basename "${pair%%:*}")"
    done
    cmp dist/kubectl_complete-skewguard "$cli/usr/bin/kubectl_complete-skewguard"
    diff <(cat "$dist"/man/*.1) <(cat "$cli"/usr/share/man/man1/* "$agent"/usr/share/man/man1/*)
    diff -r docs "$cli"/usr/share/doc/skewguard-cli*/docs
    cmp "$agent"/usr/share/licenses/skewguard*/THIRD-PARTY-LICENCES "$dist/skewguard.licences.txt"
    cmp "$cli"/usr/share/licenses/skewguard-cli*/THIRD-PARTY-LICENCES "$dist/kubectl-skewguard.licences.txt"
}

# The package for admins: nothing that systemd reads, and nothing that the other package has, so that both can be there.
for_admins() {
    [[ $(rpm -qp --qf '%{NAME}' "$work/cli.rpm") == skewguard-cli && ! $(rpm -qp --conflicts "$work/cli.rpm") ]] || fail "$(rpm -qpi "$work/cli.rpm")"
    diff -u tests/dist/rpm-files-cli <(files "$work/cli.rpm")
    [[ ! $(comm -12 <(rpm -qlp "$work/cli.rpm" | sort) <(rpm -qlp "$work/package.rpm" | sort) | grep -v '/share/doc/') ]]
}

rpm_in() { rpm --root "$work/root" --dbpath /usr/lib/sysimage/rpm --nodeps --force-debian "$@"; }

installs() {
    mkdir -p "$work/root"
    # There is no shell in it; what the scriptlets do is looked at in distribution.sh.
    rpm_in --install --noscripts "$work/package.rpm"
    rpm_in --install "$work/cli.rpm"
    rpm_in --verify skewguard skewguard-cli
    [[ ! -e $work/root/etc ]] || fail "installing wrote into /etc"
    # In the installed tree, `render` takes the embed build from the package.
    cp "$work/policy.json" "$work/root/tmp.json"
    chroot "$work/root" /usr/bin/kubectl-skewguard render machineconfig --policy tmp.json | grep '^# Binary: for '
    rm "$work/root/tmp.json"
}

erases() {
    mkdir -p "$work/root/var/lib/skewguard"
    touch "$work/root/var/lib/skewguard/verdict.json"
    rpm_in --erase --noscripts skewguard skewguard-cli
    local left
    left=$(cd "$work/root" && find . -not -type d -not -path './usr/lib/sysimage/rpm/*')
    [[ $left == ./var/lib/skewguard/verdict.json ]] || fail "left behind: $left"
}

# read_as DISTRIBUTION [OPTION...]: the spec as a distribution's rpm reads it.
read_as() {
    cat tests/dist/macros/{common,"$1"} >"$work/macros-$1"
    rpmspec --load "$work/macros-$1" "${@:2}"
}

# What the spec says to that distribution, and no macro that it does not know.
as_built_by() {
    local on=$1 rust=(rust-toolset\ \>=\ "$oldest")
    [[ $on != fedora ]] || rust=("cargo-rpm-macros >= 25" "rust >= $oldest")
    read_as "$on" --parse dist/skewguard.spec >"$work/spec"
    ! sed '/^%changelog/,$d' "$work/spec" | grep -nE '%[{?_]|%(cargo|systemd|build|dist)' || fail "unknown to $on"
    grep -x 'directory = "vendor"' "$work/spec"
    ! grep -F .preset "$work/spec" || fail "a preset of our own"
    [[ $(sed -n '/^%ghost/p' "$work/spec") == "%ghost %dir /var/lib/skewguard" ]]
    diff <(read_as "$on" -q --buildrequires dist/skewguard.spec | sort) <(printf '%s\n' gcc "${rust[@]}" systemd-rpm-macros zstd | sort)
    diff <(read_as "$on" -q --qf '%{NAME}: %{LICENSE}\n' dist/skewguard.spec | grep -v debug | sort) \
        <({ echo "skewguard: $(dist/licences --expression embed)"; echo "skewguard-cli: $(dist/licences --expression admin)"; } | sort)
    # The distribution's flags as they are.
    [[ $(grep -c "RUSTFLAGS='$(read_as "$on" --eval '%build_rustflags')'" "$work/spec") -ge 2 ]] || fail "other flags"
    # An option that %cargo_prep of none has any more.
    ! read_as "$on" --parse <(sed 's/%cargo_prep -v vendor/%cargo_prep -V 1/' dist/skewguard.spec) >/dev/null 2>&1 || fail "-V was accepted"
}

if needs root rpmbuild:rpm rpm2cpio:rpm2cpio cpio:cpio; then
    build_once
    "$dist/kubectl-skewguard" policy init >"$work/policy.json" 2>/dev/null
    check "rpmbuild around the binaries" prebuilt
    check "binaries, units, pages and licences are those of the repository" same_bytes
    check "name, version, licence, architecture" named
    check "files, modes, owners, links" diff -u tests/dist/rpm-files <(files "$work/package.rpm")
    check "licence and documentation are marked as such" marked
    check "scriptlets that apply presets, and curl" scriptlets
    check "skewguard-cli: what admins run, beside it" for_admins
    check "installs into an empty tree" installs
    check "erases, and leaves no file but what the agent has written" erases
    for on in fedora el9 el10; do check "the spec as $on reads it" as_built_by "$on"; done
fi
