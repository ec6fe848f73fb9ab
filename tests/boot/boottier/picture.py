"""A screenshot as PNG, from what QEMU writes (PPM)."""

import re
import struct
import zlib


def ppm_to_png(data):
    """Converts a binary PPM (P6, 8 bits) to PNG."""
    header = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    if not header:
        raise ValueError("not a binary PPM with 8 bits a colour")
    width, height = int(header[1]), int(header[2])
    pixels = data[header.end():]
    if len(pixels) != width * height * 3:
        raise ValueError(f"{len(pixels)} bytes of pixels for {width}x{height}")
    # Every row begins with its filter; 0 is none.
    rows = b"".join(b"\0" + pixels[row * width * 3:(row + 1) * width * 3] for row in range(height))
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b""))


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
