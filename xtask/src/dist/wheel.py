"""Packs a program as a wheel: wheel.py NAME VERSION TAG PROGRAM README LICENSES NOTICES SECONDS OUT.

The same arguments give the same file: members have the time of the commit and stand in this order.
"""

import base64
import hashlib
import sys
import time
import zipfile

name, version, tag, program, readme, licences, notices, seconds, out = sys.argv[1:]
when = max(time.gmtime(int(seconds))[:6], (1980, 1, 1, 0, 0, 0))
stem = f"{name.replace('-', '_')}-{version}"


def read(path):
    with open(path, "rb") as file:
        return file.read()


metadata = f"""Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Evaluates prompts of language models, with configs of promptfoo
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

""".encode()
wheel = f"Wheel-Version: 1.0\nGenerator: runner\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
info = f"{stem}.dist-info"
members = [(f"{stem}.data/scripts/runner", read(program), 0o755)]
# `uvx NAME` runs what is called as the package; the first line becomes that of the environment's Python.
starter = b"""#!python
import os, sys
program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "runner")
os.execv(program, [program, *sys.argv[1:]])
"""
members += [(f"{stem}.data/scripts/{name}", starter, 0o755)]
members += [(f"{info}/licenses/{path.rsplit('/', 1)[-1]}", read(path), 0o644) for path in licences.split(":")]
members += [(f"{info}/THIRD-PARTY.txt", read(notices), 0o644)]
members += [(f"{info}/METADATA", metadata + read(readme), 0o644), (f"{info}/WHEEL", wheel, 0o644)]


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


record = "".join(f"{path},sha256={digest(content)},{len(content)}\n" for path, content, _ in members)
members += [(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644)]
with zipfile.ZipFile(f"{out}/{stem}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as packed:
    for path, content, mode in members:
        member = zipfile.ZipInfo(path, when)
        member.external_attr = (0o100000 | mode) << 16
        member.compress_type = zipfile.ZIP_DEFLATED
        packed.writestr(member, content)
print(f"{stem}-{tag}.whl")
