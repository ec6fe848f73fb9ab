"""Boots stand-in nodes with real systemd and real Ignition, and looks at what skewguard did to them."""
