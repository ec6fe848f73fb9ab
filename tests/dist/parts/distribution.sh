# The package as RHEL 9 and 10 build it for their boot images, of dist/skewguard.spec --without cli: in a Debian tree with Debian's own Rust, without
# rustup, from the vendored source and without a network. tests/dist/macros stands in for their macros. What admins run takes longer to build than all
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

# The first commands of docs/dev/distributions.md, in a clone, up to rpmbuild, which runs in the tree.
sources_there() {
    local desk=$work/reader
    git clone -q . "$desk"
    files_now | tar -x -C "$desk"
    git -C "$desk" add --all
    git -C "$desk" -c user.name=reader -c user.email=reader@example.com commit -q --allow-empty -m "as it is now"
    mkdir -p "$work"/{reader-home,reader-programs}
    printf '#!/bin/sh\necho "$@" >~/asked\n' >"$work/reader-programs/rpmbuild"
    chmod +x "$work/reader-programs/rpmbuild"
    sed -n '/^```sh$/,/^```$/{/^```/d;p};/^## The route/q' docs/dev/distributions.md >"$work/reader.sh"
    (
        cd "$desk"
        export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} SOURCE_DATE_EPOCH=0 HOME=$work/reader-home
        PATH=$work/reader-programs:$PATH bash -eu "$work/reader.sh"
    )
    [[ $(<"$work/reader-home/asked") == "-ba --without cli dist/skewguard.spec" ]]
    rm -rf "$foreign_tree/build"
    mkdir -p "$foreign_tree/build"
    mv "$work/reader-home/rpmbuild/SOURCES" "$foreign_tree/build/"
    cp dist/skewguard.spec tests/dist/rpmlint.toml "$foreign_tree/build/"
}

# built_by DISTRIBUTION [OPTION...]: into a folder of its name. Debian's packages are in no RPM database: --nodeps.
built_by() {
    cat tests/dist/macros/{common,"$1"} >"$foreign_tree/build/macros-$1"
    in_tree rpmbuild -ba --without cli --nodeps "${@:2}" --load "/build/macros-$1" --define "_topdir /build/$1" --define "_sourcedir /build/SOURCES" \
        /build/skewguard.spec
}

# package_of DISTRIBUTION NAME: below the tree.
package_of() { (cd "$foreign_tree" && ls "build/$1"/RPMS/*/"$2-$distribution_version"-*.rpm); }

# file_of DISTRIBUTION PATTERN: a file of the agent's package.
file_of() { rpm2cpio "$foreign_tree/$(package_of "$1" skewguard)" | cpio -i --quiet --to-stdout "$2"; }

# as_it_should_be DISTRIBUTION
as_it_should_be() {
    local package name files size on=$1
    for name in skewguard skewguard-debuginfo; do
        package=$(package_of "$on" "$name")
        [[ $package == *-1."$on"."$(uname -m)".rpm ]] || fail "no .$on in $package"
    done
    package=$foreign_tree/$(package_of "$on" skewguard)
    size=$(rpm -qp --qf '%{SIZE}' "$package")
    echo "installed: $size bytes"
    ((size <= 4194304)) || fail "$size bytes are more than 4 MiB"
    rpm -qp --requires "$package" | grep -x curl
    rpm -qp --requires "$package" | grep '^libc.so.6'
    ! rpm -qp --requires "$package" | grep -iE 'ssl|crypto' || fail "linked to a TLS library"
    files=$(rpm -qlp "$package")
    for name in /usr/bin/skewguard /usr/lib/systemd/system/skewguard{,-report}.service /usr/lib/systemd/catalog/skewguard.catalog \
        /usr/share/man/man1/skewguard.1 /var/lib/skewguard; do
        grep -x "$name\(.gz\)\?" <<<"$files"
    done
    ! grep -E 'embed|kubectl|\.wants|preset' <<<"$files" || fail "more than the agent"
    # What is bundled is listed, for the agent without what only the command of admins has; and the tag has every licence of it.
    file_of "$on" './usr/share/licenses/skewguard*/cargo-vendor.txt' >"$work/agent-vendor"
    grep '^zbus v' "$work/agent-vendor"
    ! grep -E '^(ring|rustls|kube-client|clap) v' "$work/agent-vendor" || fail "crates that the agent does not have"
    file_of "$on" './usr/share/licenses/skewguard*/LICENSE.dependencies' >"$work/agent-licences"
    grep -q ': zbus v' "$work/agent-licences"
    python3 - "$(rpm -qp --qf '%{LICENSE}' "$package")" "$work/agent-licences" <<'END'
import sys
choices = lambda text: {frozenset(term.strip("()").split(" OR ")) for term in text.split(" AND ")}
tag = choices(sys.argv[1])
lacking = [line for line in open(sys.argv[2]) if not choices(line.split(": ")[0]) <= tag]
if lacking:
    sys.exit(f"not in the tag: {lacking}")
END
    ls "$foreign_tree/build/$on"/SRPMS/skewguard-"$distribution_version"-*.src.rpm
}

rpm_there() { in_tree rpm --force-debian --nodeps "$@"; }
enabled() { in_tree systemctl --root=/ is-enabled "$1" 2>/dev/null || :; }

# By the image's presets, in the tree; RHEL's last one disables the rest.
enabled_by_the_image() {
    local unit presets=$foreign_tree/usr/lib/systemd/system-preset package
    package=/$(package_of el9 skewguard)
    echo "disable *" >"$presets/99-default-disable.preset"
    rpm_there --install "$package"
    for unit in skewguard.service skewguard-report.service; do [[ $(enabled $unit) == disabled ]] || fail "$unit: $(enabled $unit)"; done
    rpm_there --erase skewguard
    # The lines that docs/dev/distributions.md names for an image.
    sed -n '/^enable skewguard/p' docs/dev/distributions.md >"$presets/45-image.preset"
    rpm_there --install "$package"
    for unit in skewguard.service skewguard-report.service; do [[ $(enabled $unit) == enabled ]] || fail "$unit: $(enabled $unit)"; done
    for unit in multi-user.target machine-config-daemon-firstboot.service kubelet-dependencies.target; do
        [[ -h $foreign_tree/etc/systemd/system/$unit.wants/skewguard.service ]] || fail "$unit does not want skewguard.service"
    done
    in_tree skewguard --version | grep 'linked to the system'
    in_tree systemctl --root=/ disable skewguard.service skewguard-report.service
    [[ $(enabled skewguard.service) == disabled ]]
    rpm_there --erase skewguard
    rm "$presets/45-image.preset" "$presets/99-default-disable.preset"
    [[ ! $(find "$foreign_tree/etc/systemd/system" "$foreign_tree/usr/lib/systemd" "$foreign_tree/var/lib" -name '*skewguard*') ]] || fail "left behind"
}

linted() {
    in_tree rpmlint --config /build/rpmlint.toml /build/skewguard.spec /build/el9/SRPMS/ /build/el9/RPMS/ | tee "$work/rpmlint"
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
    long "the first commands of docs/dev/distributions.md" sources_there
    long "rpmbuild there, as on RHEL 9, with its tests" built_by el9
    long "rpmbuild there, as on RHEL 10" built_by el10 --nocheck
    for on in el9 el10; do
        check "$on: debuginfo, a source package, every licence; at most 4 MiB installed, linked to glibc and to no TLS" as_it_should_be "$on"
    done
    check "enabled by the image's preset alone, disabled by hand, erased" enabled_by_the_image
    check "rpmlint has nothing to say that is not explained" linted
    long "the agent by Rust $oldest" by_the_oldest
fi
