"""Times candidates on a Dask cluster, whose workers are beside their boards.

A worker says which board it has by a resource of that name, one of it, so that it measures one
program at a time.  What a worker that dies was doing another one does again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from edgeconv.app.tuning.candidates import Job
from edgeconv.app.tuning.places import Here
from edgeconv.app.tuning.program import Timed
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.search.measured import Key

_CONNECTING_S = "10s"
_PATIENCE_S = 900.0  # without any program coming back


class Cluster:
    """The workers at ``address`` that have ``board``.

    Raises EdgeconvError: no `distributed` here (exit status 3); no scheduler there, or no worker
    with this board (2); workers that differ in board, compiler or edgeconv (1).
    """

    def __init__(self, address: str, board: str, ssh: str) -> None:
        if find_spec("distributed") is None:
            raise EdgeconvError(
                "no distributed",
                where="--cluster",
                rule="it is Dask's scheduler",
                hint="pip install 'edgeconv[cluster]'",
                code=Exit.MISSING_TOOL,
            )
        self._dask: Any = import_module("distributed")
        self.address, self._board, self._ssh = address, board, ssh
        try:
            self._client = self._dask.Client(address, timeout=_CONNECTING_S)
        except (OSError, ValueError) as error:
            raise UsageError(
                "no cluster", where=address, got=str(error), hint="start one with `dask scheduler`"
            ) from error
        self.key = self._common_key()

    @property
    def width(self) -> int:
        """Workers with the board."""
        return len(self._workers())

    def measure(self, programs: Iterable[Sequence[Job]], runs: int) -> Iterator[list[Timed]]:
        """All at once; raises EdgeconvError where no worker is left."""
        sent = [
            self._submit(
                measured_there, [as_job(job) for job in jobs], self._board, self._ssh, runs
            )
            for jobs in programs
        ]
        done = self._dask.as_completed(sent, timeout=_PATIENCE_S)
        try:
            for future in done:
                key, timed = self._result(future)
                if key != self.key:
                    raise _different(self.key, key)
                yield timed
        except TimeoutError as error:
            rule = f"no program came back for {_PATIENCE_S:.0f} s"
            raise EdgeconvError("the cluster is silent", where=self.address, rule=rule) from error
        finally:
            self._client.cancel(sent)

    def close(self) -> None:
        """Leave it to others."""
        self._client.close()

    def _workers(self) -> list[str]:
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        return [name for name, each in found.items() if each["resources"].get(self._board, 0) >= 1]

    def _common_key(self) -> Key:
        workers = self._workers()
        if not workers:
            self.close()
            raise UsageError(
                "no worker with this board",
                where=self.address,
                got=self._board,
                hint=f"dask worker {self.address} --nthreads 1 --resources {self._board}=1",
            )
        found = self._client.run(
            key_there, self._board, self._ssh, workers=workers, on_error="return"
        )
        keys = [each for each in found.values() if isinstance(each, Key)]
        for other in found.values():
            if isinstance(other, EdgeconvError) or (isinstance(other, Key) and other != keys[0]):
                self.close()
                raise other if isinstance(other, EdgeconvError) else _different(keys[0], other)
        if not keys:
            self.close()
            rule = f"none of {len(workers)} said what it measures with"
            raise EdgeconvError("workers died", where=self.address, rule=rule)
        return keys[0]

    def _submit(self, function: Any, *arguments: Any) -> Any:
        return self._client.submit(
            function, *arguments, resources={self._board: 1}, pure=False, retries=2
        )

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._dask.KilledWorker as error:
            rule = "a program took several workers with it, or none is left"
            raise EdgeconvError("workers died", where=self.address, rule=rule) from error


def as_job(job: Job) -> Job:
    """The part that is sent."""
    return Job(job.kernel, job.workload, job.predicted, job.node, job.tensors)


def key_there(board: str, ssh: str) -> Key:
    """What a worker notes times by."""
    return Here(board, ssh).key


def measured_there(jobs: Sequence[Job], board: str, ssh: str, runs: int) -> tuple[Key, list[Timed]]:
    """What a worker does."""
    place = Here(board, ssh)
    (timed,) = place.measure([jobs], runs)
    return place.key, timed


def _different(one: Key, other: Key) -> EdgeconvError:
    return EdgeconvError(
        "workers differ",
        got=str(other),
        rule=f"one has {one}",
        hint="boards, compilers and edgeconv of one cluster are the same",
    )
