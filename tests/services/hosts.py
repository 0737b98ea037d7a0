"""Two hosts on one machine: network namespaces with an address each, at one bridge."""

from __future__ import annotations

import os
import shutil
import subprocess

HOW = "two hosts need network namespaces and a bridge: iproute2, root, and a kernel that lets them be made"


def _ip(*words: str) -> bool:
    return subprocess.run(["ip", *words], capture_output=True).returncode == 0


class Hosts:
    """Two namespaces; `make` says whether they could be made.

    The names and the network are this process's own, so that two runs of the tests do not meet.
    """

    def __init__(self) -> None:
        self._mark = f"hr{os.getpid() % 1_000_000}"
        self._net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.names = [f"{self._mark}n{i}" for i in range(2)]
        self.gateway = f"{self._net}.1"
        self.addresses = [f"{self._net}.{i + 2}" for i in range(2)]
        self.network = f"{self._net}.0/24"

    def make(self) -> bool:
        """Make them; whatever could not be made is removed again."""
        if os.getuid() != 0 or shutil.which("ip") is None:
            return False
        bridge = f"{self._mark}b"
        good = (
            _ip("link", "add", bridge, "type", "bridge")
            and _ip("addr", "add", f"{self.gateway}/24", "dev", bridge)
            and _ip("link", "set", bridge, "up")
        )
        for i, name in enumerate(self.names):
            near, far = f"{self._mark}v{i}", f"{self._mark}w{i}"
            good = (
                good
                and _ip("netns", "add", name)
                and _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
                and _ip("link", "set", near, "master", bridge, "up")
                and _ip("-n", name, "addr", "add", f"{self.addresses[i]}/24", "dev", far)
                and _ip("-n", name, "link", "set", far, "up")
                and _ip("-n", name, "link", "set", "lo", "up")
            )
        good = good and self._reaches()
        if not good:
            self.remove()
        return good

    def inside(self, i: int) -> tuple[str, ...]:
        """What to put before a command that runs on a host."""
        return ("ip", "netns", "exec", self.names[i])

    def link(self, i: int, *, up: bool) -> None:
        """Cut a host off, or connect it again."""
        assert _ip("link", "set", f"{self._mark}v{i}", "up" if up else "down")

    def remove(self) -> None:
        """Remove all of it."""
        for name in self.names:
            _ip("netns", "del", name)
        _ip("link", "del", f"{self._mark}b")

    def _reaches(self) -> bool:
        """Whether packets pass: some machines let all of it be made, and drop them."""
        probe = (
            "import socket, sys; s = socket.socket(); s.settimeout(3)\n"
            "try: s.connect((sys.argv[1], 9))\n"
            "except ConnectionRefusedError: pass"
        )
        words = [*self.inside(0), "python3", "-c", probe, self.gateway]
        return subprocess.run(words, capture_output=True).returncode == 0
