# dist/release before it builds anything: what it does not release.

readonly clone=$work/release
release_version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

# A checkout of its own, of the files as they are now, with a changelog for this version and its tag.
released() {
    mkdir -p "$clone"
    git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
        tar -c --null -T - | tar -x -C "$clone"
    git -C "$clone" init -q
    sed -i "s/^## Unreleased$/## $release_version - 2026-01-01/" "$clone/CHANGELOG.md"
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
    sed -i "s/^## $v .*/## Unreleased/" "$clone/CHANGELOG.md"
    record && git -C "$clone" tag -f "v$v" >/dev/null
    refuses "CHANGELOG.md has no section \"## $v\"" "$v"
    rm -rf "$clone/.git"
    refuses "this is no git checkout: a release is made from its tag" "$v"
}

if needs git:git rpmbuild:rpm; then
    check "a checkout with its tag" released
    check "dist/release refuses a dirty tree, a missing tag, another version, no changelog" what_is_not_released
fi
