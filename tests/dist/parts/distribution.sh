# The package as a distribution builds it for its boot image, of dist/skewguard.spec --without cli: in a Debian tree with Debian's own Rust, without
# rustup, from the vendored source and without a network. tests/dist/macros stands in for Fedora's macros. What admins run takes longer to build than all
# the rest; it is in rpm.sh.

readonly foreign_tree=${dist%/dist}/distribution-tree
distribution_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
readonly oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
readonly tree_packages=rpm,cargo-web,rustc-web,gcc,libc6-dev,debugedit,file,elfutils,zstd,systemd,rpmlint

# Kept between runs; made anew for other packages.
debian() {
    [[ "$(cat "$foreign_tree/packages" 2>/dev/null)" != "$tree_packages" ]] || return 0
    rm -rf "$foreign_tree"
    mmdebstrap --quiet --variant=apt --include="$tree_packages" bookworm "$foreign_tree" \
        http://deb.debian.org/debian "deb http://deb.debian.org/debian-security bookworm-security main"
    echo "$tree_packages" >"$foreign_tree/packages"
}

# in_tree COMMAND...: there, with a network that has no interface but a loopback that is down, and nothing of this environment.
in_tree() {
    # shellcheck disable=SC2016 # the inner shell's
    unshare --net --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && tree=$1 && shift && exec chroot "$tree" env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C "$@"' \
        - "$foreign_tree" "$@"
}

without_rustup() {
    [[ ! -e $foreign_tree/root/.cargo/bin && ! -e $foreign_tree/usr/bin/rustup ]]
    in_tree cargo --version
    ! in_tree cargo search serde 2>/dev/null || fail "there is a network"
}

built_by_distribution() {
    rm -rf "$foreign_tree/build"
    mkdir -p "$foreign_tree/build"
    source_archive "$foreign_tree/build/SOURCES"
    SOURCE_DATE_EPOCH=0 dist/vendor "$foreign_tree/build/SOURCES/skewguard-$distribution_version-vendor.tar.zst"
    cp dist/skewguard.spec tests/dist/macros tests/dist/rpmlint.toml "$foreign_tree/build/"
    # Debian's packages are in no RPM database: --nodeps.
    in_tree rpmbuild -ba --without cli --nodeps --load /build/macros --define '_topdir /build' /build/skewguard.spec
}

# The package of this name, below the tree.
package_of() { (cd "$foreign_tree" && ls build/RPMS/*/"$1-$distribution_version"-*.rpm); }

as_it_should_be() {
    local package name files size
    for name in skewguard skewguard-debuginfo; do
        package=$(package_of "$name")
        [[ $package == *-1.el9.x86_64.rpm || $(uname -m) != x86_64 ]] || fail "no .elN in $package"
    done
    package=$foreign_tree/$(package_of skewguard)
    size=$(rpm -qp --qf '%{SIZE}' "$package")
    echo "installed: $size bytes"
    ((size <= 2097152)) || fail "$size bytes are more than 2 MiB"
    rpm -qp --requires "$package" | grep -x curl
    rpm -qp --requires "$package" | grep '^libc.so.6'
    ! rpm -qp --requires "$package" | grep -iE 'ssl|crypto' || fail "linked to a TLS library"
    files=$(rpm -qlp "$package")
    for name in /usr/bin/skewguard /usr/lib/systemd/system/skewguard{,-report}.service /usr/lib/systemd/system-preset/80-skewguard.preset \
        /usr/lib/systemd/catalog/skewguard.catalog /usr/share/man/man1/skewguard.1; do
        grep -x "$name\(.gz\)\?" <<<"$files"
    done
    ! grep -E 'embed|kubectl|\.wants' <<<"$files" || fail "more than the agent"
    # What is bundled is listed, for the agent without what only the command of admins has.
    rpm2cpio "$package" | cpio -i --quiet --to-stdout './usr/share/licenses/skewguard*/cargo-vendor.txt' >"$work/agent-vendor"
    grep '^zbus v' "$work/agent-vendor"
    ! grep -E '^(ring|rustls|kube-client|clap) v' "$work/agent-vendor" || fail "crates that the agent does not have"
    ls "$foreign_tree"/build/SRPMS/skewguard-"$distribution_version"-*.src.rpm
}

rpm_there() { in_tree rpm --force-debian --nodeps "$@"; }
enabled() { in_tree systemctl --root=/ is-enabled "$1" 2>/dev/null || :; }

# By presets, in the tree, as an image is made.
enabled_by_preset() {
    local unit presets=$foreign_tree/usr/lib/systemd/system-preset
    rpm_there --install "/$(package_of skewguard)"
    for unit in skewguard.service skewguard-report.service; do [[ $(enabled $unit) == enabled ]] || fail "$unit: $(enabled $unit)"; done
    for unit in multi-user.target machine-config-daemon-firstboot.service kubelet-dependencies.target; do
        [[ -h $foreign_tree/etc/systemd/system/$unit.wants/skewguard.service ]] || fail "$unit does not want skewguard.service"
    done
    in_tree skewguard --version | grep 'linked to the system'
    in_tree systemctl --root=/ disable skewguard.service skewguard-report.service
    [[ $(enabled skewguard.service) == disabled ]]
    rpm_there --erase skewguard
    # A preset of the distribution comes first.
    echo "disable skewguard-report.service" >"$presets/40-distribution.preset"
    rpm_there --install "/$(package_of skewguard)"
    rm "$presets/40-distribution.preset"
    [[ "$(enabled skewguard.service) $(enabled skewguard-report.service)" == "enabled disabled" ]]
    rpm_there --erase skewguard
    [[ ! $(find "$foreign_tree/etc/systemd/system" "$foreign_tree/usr/lib/systemd" -name '*skewguard*') ]] || fail "left behind"
}

linted() {
    in_tree rpmlint --config /build/rpmlint.toml /build/skewguard.spec "/build/SRPMS/" "/build/RPMS/" | tee "$work/rpmlint"
    grep -E ' 0 errors, 0 warnings' "$work/rpmlint"
}

# The compiler that Cargo.toml names, for the agent alone. Debian has none of that age.
by_the_oldest() {
    local toolchain=$oldest.0
    rustup toolchain list | grep "^$toolchain" >/dev/null || rustup toolchain install "$toolchain" --profile minimal --no-self-update
    CARGO_TARGET_DIR=${dist%/dist}/oldest cargo "+$toolchain" build --locked --package skewguard --no-default-features
    "${dist%/dist}/oldest/debug/skewguard" check --root tests/trees/rhcos-9.6-allowed
}

if needs root mmdebstrap:mmdebstrap rpmbuild:rpm rpm2cpio:rpm2cpio cpio:cpio zstd:zstd rustup:rustup; then
    long "a Debian tree with Debian's Rust" debian
    check "no rustup and no network there" without_rustup
    long "rpmbuild there, from the vendored source, with its tests" built_by_distribution
    check "debuginfo, a source package; at most 2 MiB installed, linked to glibc and to no TLS" as_it_should_be
    check "enabled by preset, disabled by hand or by another preset, erased" enabled_by_preset
    check "rpmlint has nothing to say that is not explained" linted
    long "the agent by Rust $oldest" by_the_oldest
fi
