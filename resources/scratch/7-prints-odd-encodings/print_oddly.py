"""Print text in several encodings, colours, and progress, byte by byte as old and new programs do."""

import sys
import time


def put(data: bytes) -> None:
    """Write bytes at once, as they are."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


put("UTF-8: größer, naïve, 漢字, 🙂\n".encode())
put(b"A character in two writes: ")
put("é".encode()[:1])
time.sleep(0.2)
put("é".encode()[1:] + b"\n")
put(b"Code page 850: " + "größer, naïve, ½ £".encode("cp850") + b"\n")
put(b"Code page 932: " + "漢字とかな".encode("cp932") + b"\n")
put(b"Bytes that mean nothing in UTF-8: \x81 \x8d \x90 \xa2 \xff\n")
put(b"Bytes of zero and of control: [\x00] [\x07] [\x1a]\n")
put(b"\x1b[31mred\x1b[0m \x1b[1;32mbold green\x1b[0m \x1b[44;97mwhite on blue\x1b[0m ")
put(b"\x1b[38;5;208morange of 256\x1b[0m \x1b[38;2;120;80;200mviolet of 16 million\x1b[0m\n")
for percent in range(0, 101, 10):
    put(f"\rProgress that rewrites its line: {percent:3d} %".encode())
    time.sleep(0.1)
put(b"\n")
put(b"This line is erased\r\x1b[2KThis line took its place\n")
put(b"The line below is replaced by way of cursor-up\nold text\n\x1b[1A\x1b[2Knew text\n")
put("UTF-16, as an old PowerShell writes it: größer, 漢字\r\nand a second line\r\n".encode("utf-16"))
put("Back to UTF-8: that is all – the end.\n".encode())
sys.stderr.write("And one line to the error output.\n")
