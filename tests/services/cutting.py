"""A wire between a program and its database that can be cut, at the worst moment."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Cutter:
    """Forwards connections of a free port to another one, until it is told to cut.

    Args:
        port: where to; on this machine.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._when: Callable[[bytes], bool] | None = None
        self._before = False
        self.cuts = 0
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_once(self, when: Callable[[bytes], bool], *, before: bool) -> None:
        """Cut all connections once when a program sends such bytes: before they arrive, or after they did
        and were answered, but before the answer arrives."""
        self._when, self._before = when, before

    def cut_all(self) -> None:
        """Cut all connections now."""
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def refuse(self) -> None:
        """Let nobody in any more."""
        self.closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Cut everything for good."""
        self.refuse()
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        while not self.closed:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                continue
            self._pairs.append((near, far))
            doomed = threading.Event()
            threading.Thread(target=self._forward, args=(near, far, doomed), daemon=True).start()
            threading.Thread(target=self._back, args=(far, near, doomed), daemon=True).start()

    def _forward(self, near: socket.socket, far: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                if self._when is not None and self._when(data):
                    self._when = None
                    self.cuts += 1
                    if self._before:
                        self.cut_all()
                        return
                    doomed.set()
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)

    def _back(self, far: socket.socket, near: socket.socket, doomed: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if doomed.is_set():
                    self.cut_all()
                    return
                near.sendall(data)
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
