package dev.lithify.oracle.compact;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/**
 * The compaction thread of a Paimon writer, without the thread: a task runs when it is submitted, in the caller,
 * and is recorded with the time it took. The results are those of a real thread that is waited for.
 */
public final class InlineExecutor extends AbstractExecutorService {
    /** A task that has run. */
    public record Run(Callable<?> task, long wallNanos, long cpuNanos) {}

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final List<Run> runs = new ArrayList<>();
    private boolean shutdown;

    public List<Run> runs() {
        return runs;
    }

    @Override
    public <T> Future<T> submit(Callable<T> task) {
        FutureTask<T> future = new FutureTask<>(task);
        long wall = System.nanoTime();
        long cpu = THREADS.getCurrentThreadCpuTime();
        future.run();
        runs.add(new Run(task, System.nanoTime() - wall, THREADS.getCurrentThreadCpuTime() - cpu));
        return future;
    }

    @Override
    public void execute(Runnable command) {
        command.run();
    }

    @Override
    public void shutdown() {
        shutdown = true;
    }

    @Override
    public List<Runnable> shutdownNow() {
        shutdown = true;
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return shutdown;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) {
        return shutdown;
    }
}
