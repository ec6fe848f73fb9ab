"""How long the harness waits, in seconds, for what must happen.

Only what hangs ever takes that long, so all of it is far more than a machine needs that is slow (no KVM) and busy.
"""

# An answer to a command on a node; something on the console or at the API server that follows at once.
ANSWER = 120
# The end of a machine that was told to power off.
END = 180
# A boot in a container, a boot in QEMU: to the login prompt, and whatever the scenario waits for in it.
BOOT = 240
QEMU_BOOT = 900
# A scenario with all its boots.
SCENARIO = 600
# A first boot of which only the time matters.
LATENCY = 60
QEMU_SCENARIO = 40 * 60
# A guest of a few instructions, to see whether KVM works. The first sign of a machine on its console, with KVM.
PROBE = 20
SILENCE = 60
