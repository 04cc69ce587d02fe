"""Java objects that Python no longer uses, released many at a time.

Py4J sends a message for each. A small run makes seven thousand such objects, most of them columns. Their messages
are more than a third of all messages of the run.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, JavaClient
from py4j.protocol import Py4JError
from pyspark import SparkContext

#: Unused objects stay in Java until there are so many.
MANY = 200


class _Unused(deque[str]):
    """The names of unused objects of a connection, in place of the queue of Py4J's worker.

    Python's collector adds an object in any thread, at any moment, so adding never waits.
    """

    def __init__(self, client: JavaClient, bindings: Any, split: Any) -> None:
        super().__init__()
        self._worker, self._bindings, self._split, self._many = client.finalizer_deque, bindings, split, Event()
        Thread(target=self._release, name="unused Java objects", daemon=True).start()

    def appendleft(self, task: Any) -> None:
        if task == SHUTDOWN_FINALIZER_WORKER:
            self._worker.appendleft(task)
            return
        _, name = task
        super().appendleft(name)
        if len(self) >= MANY:
            self._many.set()

    def _release(self) -> None:
        while self._many.wait():
            self._many.clear()
            unused = [self.pop() for _ in range(len(self))]
            with suppress(OSError, Py4JError):  # Java has ended
                self._bindings.removeAll(self._split(",".join(unused)))


def release_in_bulk(context: SparkContext) -> None:
    """Release unused Java objects of this process in bulk from now on.

    Where PySpark shares one connection between threads, each object is still released alone.
    """
    gateway: Any = context._gateway  # noqa: SLF001  PySpark has no public name for it
    client = gateway._gateway_client  # noqa: SLF001  nor has Py4J
    if not isinstance(client, JavaClient) or isinstance(client.finalizer_deque, _Unused):
        return
    split = gateway.jvm.org.apache.hadoop.util.StringUtils.getStringCollection
    bindings = gateway.java_gateway_server.getGateway().getBindings().keySet()
    client.finalizer_deque = _Unused(client, bindings, split)
