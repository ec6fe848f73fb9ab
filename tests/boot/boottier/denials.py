"""What SELinux denied on a node, from its journal."""

import re

DENIED = re.compile(r"avc:\s+denied\s+\{ (?P<what>[^}]*) \}(?P<how>.*?)scontext=\w+:\w+:(?P<source>\w+)\S* tcontext=\w+:\w+:(?P<target>\w+)\S* "
                    r"tclass=(?P<kind>\w+)")
# What PID 1 may not do, nor services without a domain of their own, as the agent's are, nor who logs in, nor who shows what the agent writes; what they
# are not told over D-Bus; whatever names the agent; and what is not understood here.
OURS = re.compile(r"^(init|initrc|unconfined|getty|local_login)_t |(init|initrc|unconfined)_t dbus\b|skewguard|^\?")
HARMLESS = {
    # `agetty --reload` of the agent stays in the agent's domain, and does there what it is to do.
    "initrc_t nnp_transition getty_t process2",
    # Debian's policy has no rule for the answer of systemd-hostnamed to such a service. The report does without.
    "systemd_hostnamed_t send_msg initrc_t dbus",
    # agetty asks for a capability that is newer than the policy.
    "getty_t checkpoint_restore getty_t capability2",
    # login asks systemd whether root is a user that it made up for a service (nss-systemd).
    "local_login_t connectto kernel_t unix_stream_socket",
    # login inherits the socket on which agetty waits for the address that the message names (agetty(8), \\4). SELinux closes it.
    "local_login_t read write getty_t netlink_route_socket",
}


def denials(boot, number=0):
    """Each denial of this boot once: the domain, what it may not do, to which type and kind of object; then the program and the file."""
    text = boot.shell(f"journalctl --sync; journalctl -b {number} -o cat -q --no-pager --all | grep 'avc: *denied' || true")
    found = []
    for line in text.splitlines():
        match = DENIED.search(line)
        details = re.findall(r'\b(comm|path|name)="([^"]*)"', match["how"]) if match else []
        what = "{source} {what} {target} {kind}".format(**match.groupdict()) if match else f"? {line}"
        found.append(", ".join([what, *(f"{name}={value}" for name, value in details)]))
    return list(dict.fromkeys(found))


def concern_us(found):
    """Those of these denials that may have to do with the agent, without the harmless ones."""
    return [denial for denial in found if OURS.search(denial) and denial.split(", ")[0] not in HARMLESS]
