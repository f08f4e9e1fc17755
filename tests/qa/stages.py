"""Adaptive execution without its races: stages that run together are seen to finish together."""

from __future__ import annotations

import re
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.004
# A thread that goes on after it has waited is seen to wait until it gets a core. A broadcast may also wait for a
# subquery, whose stages are held up here.
_POLLS, _POLLS_WITH_BROADCAST = 10, 60
# Threads that work for a query. Other threads are always running, as they read from sockets.
_WORKER = re.compile(
    r'"(?:Executor task launch|task-result-getter|dag-scheduler|broadcast-exchange|subquery|ResultQueryStage|'
    r'QueryStage)[^"]*" .*?Id=\d+ (?:RUNNABLE|BLOCKED)'
)


class StagesFinishTogether:
    """Within the block, Spark learns that stages have finished once nothing runs any more.

    Spark plans the rest of a query anew whenever stages have finished. Which of those that run have finished by then
    depends on the clock, and some decisions depend on it. Spark reports finished stages by a pool of threads: here the
    pool has one thread, which is held up until nothing else happens, and then reports all of them at once.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        context: Any = spark._sc._jsc
        self._scheduler = context.sc().dagScheduler()
        self._pool = self._pool_of("adaptive.AdaptiveSparkPlanExec$")
        self._broadcasts = self._pool_of("exchange.BroadcastExchangeExec$")
        self._caller = re.compile(rf"Id={jvm.java.lang.Thread.currentThread().getId()} (?:RUNNABLE|BLOCKED)")
        self._threads = self._thread_states()
        self._stop = threading.Event()
        self._poller = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> None:
        self._size = self._pool.getCorePoolSize()
        self._pool.setCorePoolSize(1)
        self._held = self._hold()
        self._poller.start()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stop.set()
        self._poller.join()
        self._pool.setCorePoolSize(self._size)

    def _poll(self) -> None:
        idle = 0
        try:
            while not self._stop.wait(_POLL_SECONDS):
                idle = idle + 1 if self._pool.getQueue().size() > 0 and self._idle() else 0
                if idle >= (_POLLS_WITH_BROADCAST if self._broadcasts.getActiveCount() > 0 else _POLLS):
                    idle = 0
                    held, self._held = self._held, self._hold()
                    held.countDown()
        finally:
            self._held.countDown()

    def _idle(self) -> bool:
        if self._scheduler.activeJobs().size() > 0:
            return False
        states = self._threads.invokeWithArguments(self._all_threads)
        return not _WORKER.search(states) and not self._caller.search(states)

    def _hold(self) -> Any:
        """Makes the pool's thread wait, after what is queued, and returns the latch that it waits for."""
        jvm = self._jvm
        latch = jvm.java.util.concurrent.CountDownLatch(1)
        handles = jvm.java.lang.invoke
        no_arguments = handles.MethodType.methodType(jvm.java.lang.Void.TYPE)
        wait = handles.MethodHandles.lookup().findVirtual(latch.getClass(), "await", no_arguments).bindTo(latch)
        runnable = jvm.java.lang.Class.forName("java.lang.Runnable")
        self._pool.execute(handles.MethodHandleProxies.asInterfaceInstance(runnable, wait))
        return latch

    def _pool_of(self, owner: str) -> Any:
        """The threads behind an execution context of Spark's."""
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        found = loader.loadClass(f"org.apache.spark.sql.execution.{owner}").getDeclaredField("executionContext")
        found.setAccessible(True)
        context = found.get(None)
        executor = context.getClass().getSuperclass().getDeclaredField("executor")
        executor.setAccessible(True)
        return executor.get(context)

    def _thread_states(self) -> Any:
        """A handle on `Arrays.toString(threads.dumpAllThreads(...))`, as Py4J may not call the class of `threads`."""
        jvm = self._jvm
        lang = jvm.java.lang
        handles = lang.invoke.MethodHandles
        types = lang.invoke.MethodType
        bean = lang.Class.forName("java.lang.management.ThreadMXBean")
        infos = lang.Class.forName("[Ljava.lang.management.ThreadInfo;")
        parameters = jvm.java.util.ArrayList()
        for kind in (lang.Boolean.TYPE, lang.Boolean.TYPE, lang.Integer.TYPE):
            parameters.add(kind)
        self._all_threads = jvm.java.util.ArrayList()
        for value in (False, False, 0):
            self._all_threads.add(value)
        dump = handles.lookup().findVirtual(bean, "dumpAllThreads", types.methodType(infos, parameters))
        text, objects = lang.Class.forName("java.lang.String"), lang.Class.forName("[Ljava.lang.Object;")
        arrays = lang.Class.forName("java.util.Arrays")
        shown = handles.lookup().findStatic(arrays, "toString", types.methodType(text, objects))
        threads = lang.management.ManagementFactory.getThreadMXBean()
        return handles.filterReturnValue(dump.bindTo(threads), shown.asType(types.methodType(text, infos)))
