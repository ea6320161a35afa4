"""A stand-in for Ray that works in this process: tasks and actors without a cluster.

It has what the engine uses of Ray's interface. What a cluster does otherwise (other processes,
other machines) is tested with Ray itself, where that is installed.
"""

import asyncio
import pickle
from types import ModuleType, SimpleNamespace


class RayError(Exception):
    """What Ray raises for a task or an actor that is lost."""


class TaskError(RayError):
    """What Ray raises for an error of a task, its cause."""

    def __init__(self, cause):
        super().__init__("the task failed, and this is its long traceback")
        self.cause = cause


class Ref:
    """A result; None for one that never comes."""

    def __init__(self, make):
        self.make = make


class Actor:
    """An object whose methods are awaited."""

    def __init__(self, ray, made):
        self._ray = ray
        self._made = made

    def __getattr__(self, name):
        async def call(*args):
            await asyncio.sleep(0)
            self._ray.calls.append((name, args))
            if self._ray.losses:
                loss = self._ray.losses.pop(0)
                if loss is not None:
                    raise loss
            return await getattr(self._made, name)(*args)

        return SimpleNamespace(remote=call)


class InlineRay(ModuleType):
    """The package, and the cluster that it connects to."""

    def __init__(self, cpus=2, address=None):
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.by_value = []
        self.cloudpickle = SimpleNamespace(
            dumps=self._dumps,
            register_pickle_by_value=self.by_value.append,
            unregister_pickle_by_value=self.by_value.remove,
        )
        self.cpus = cpus
        self.address = address
        # whether the user's own code has connected
        self.is_users = False
        self.init_error = None
        self.inits = []
        self.shutdowns = 0
        # of every task and actor
        self.options = []
        # calls of actors' methods, and the errors that the next ones meet; None for none
        self.calls = []
        self.losses = []
        self.killed = []
        self.cancelled = []
        # the errors of the next tasks, in their order
        self.task_errors = []
        self.has_free_core = True
        self.kits = []
        # pickles with the project's modules by value fail
        self.refuses_modules = False

    def _dumps(self, kit):
        self.kits.append((kit, list(self.by_value)))
        if self.refuses_modules and self.by_value:
            raise TypeError("cannot pickle '_thread.lock' object")
        return pickle.dumps(kit)

    def is_initialized(self):
        return self.is_users

    def init(self, **settings):
        if self.init_error is not None:
            raise self.init_error
        self.inits.append(settings)

    def shutdown(self):
        self.shutdowns += 1

    def cluster_resources(self):
        return {} if self.cpus is None else {"CPU": self.cpus}

    def get_runtime_context(self):
        return SimpleNamespace(gcs_address=self.address)

    def remote(self, **options):
        self.options.append(options)

        def of(target):
            if isinstance(target, type):
                return SimpleNamespace(remote=lambda: Actor(self, target()))
            return SimpleNamespace(remote=lambda *args: Ref(lambda: target(*args)))

        return of

    def wait(self, refs, timeout):
        assert timeout >= 0
        return (refs, []) if self.has_free_core else ([], refs)

    def get(self, ref):
        if self.task_errors:
            error = self.task_errors.pop(0)
            if error is not None:
                raise error
        return ref.make()

    def kill(self, actor):
        self.killed.append(actor)

    def cancel(self, ref):
        self.cancelled.append(ref)
