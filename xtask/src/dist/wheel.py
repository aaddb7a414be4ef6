"""Packs a wheel: wheel.py ABOUT, a JSON object with what stands in it, as `wheel` of `wrappers.rs` writes it.

The same object gives the same file: members have the time of the commit and stand in their order.
"""

import base64
import hashlib
import json
import sys
import time
import zipfile

about = json.loads(sys.argv[1])
when = max(time.gmtime(int(about["time"]))[:6], (1980, 1, 1, 0, 0, 0))
stem = f"{about['name'].replace('-', '_')}-{about['version']}"
tag = about["tag"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


metadata = f"""Metadata-Version: 2.1
Name: {about['name']}
Version: {about['version']}
Summary: {about['summary']}
License: MIT OR Apache-2.0
Requires-Python: {about['python']}
Description-Content-Type: text/markdown

""".encode()
pure = str(tag.endswith("-none-any")).lower()
wheel = f"Wheel-Version: 1.0\nGenerator: runner\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
info = f"{stem}.dist-info"
# What is run is below `.data/scripts`; the rest is of the package, or about it.
members = []
for to, source in about["members"]:
    to = to.replace("DATA", f"{stem}.data").replace("INFO", info)
    content = source["text"].encode() if isinstance(source, dict) else read(source)
    members.append((to, content, 0o755 if "/scripts/" in to else 0o644))
members += [(f"{info}/METADATA", metadata + read(about["readme"]), 0o644), (f"{info}/WHEEL", wheel, 0o644)]


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


record = "".join(f"{path},sha256={digest(content)},{len(content)}\n" for path, content, _ in members)
members += [(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644)]
with zipfile.ZipFile(f"{about['out']}/{stem}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as packed:
    for path, content, mode in members:
        member = zipfile.ZipInfo(path, when)
        member.external_attr = (0o100000 | mode) << 16
        member.compress_type = zipfile.ZIP_DEFLATED
        packed.writestr(member, content)
print(f"{stem}-{tag}.whl")
