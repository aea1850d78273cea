package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.jdbc.JdbcCatalog;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;

/**
 * Ops that hold the lock of a JDBC catalog by Paimon's own class, as a committer does between its check and its
 * renaming: lock answers once the lock is held, unlock once it is released.
 */
public final class LockOps {
    private record Held(Thread holder, CountDownLatch end) {}

    private final Tables tables;
    private final Map<String, Held> held = new HashMap<>();

    public LockOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("lock", this::lock);
        ops.put("unlock", this::unlock);
    }

    private Object lock(Args args) throws Exception {
        JdbcCatalog catalog = (JdbcCatalog) tables.catalog(args);
        Identifier identifier = tables.identifier(args);
        CompletableFuture<Void> taken = new CompletableFuture<>();
        CountDownLatch end = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(catalog, identifier, taken, end), "lock");
        holder.setDaemon(true);
        holder.start();
        try {
            taken.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause().getMessage(), e.getCause());
        }
        String token = UUID.randomUUID().toString();
        held.put(token, new Held(holder, end));
        return token;
    }

    private static void hold(
            JdbcCatalog catalog, Identifier identifier, CompletableFuture<Void> taken, CountDownLatch end) {
        try {
            catalog.runWithLock(identifier, () -> {
                taken.complete(null);
                end.await();
                return null;
            });
        } catch (Exception e) {
            taken.completeExceptionally(e);
        }
    }

    private Object unlock(Args args) throws Exception {
        Held lock = held.remove(args.text("token"));
        lock.end().countDown();
        lock.holder().join();
        return null;
    }
}
