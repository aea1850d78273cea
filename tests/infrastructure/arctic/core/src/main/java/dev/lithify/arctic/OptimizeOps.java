package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import com.netease.arctic.table.KeyedTable;

import org.apache.iceberg.DeleteFile;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Optimizing by Arctic's own parts, one task after the other in the calling thread. With `"commit": false` the files
 * are written and nothing is committed.
 */
final class OptimizeOps {
    private final Tables tables;

    OptimizeOps(Tables tables) {
        this.tables = tables;
    }

    void register(Map<String, Op> ops) {
        ops.put("rewrite", args -> optimize(args, OptimizeOps::rewrite));
        ops.put("minor", args -> optimize(args, OptimizeOps::minor));
    }

    private Object optimize(Args args, Kind kind) throws IOException {
        KeyedTable table = tables.open(args);
        Set<String> selected = Set.copyOf(args.texts("partitions"));
        Subtrees plan = new Subtrees(table, path -> !args.has("partitions") || selected.contains(path));
        Optimized into = new Optimized(table, plan.newestSequence());
        Executors executors = new Executors(table, args.integer("task_id", 0));
        for (Subtree task : plan.tasks()) {
            kind.execute(executors, task, into);
        }
        if (args.flag("commit", true)) {
            into.commit();
        }
        return into.json();
    }

    /** Base files, change files and position deletes of every task become base files. */
    private static void rewrite(Executors executors, Subtree task, Optimized into) throws IOException {
        Optimized.put(into.added, executors.rewrite(task));
        Optimized.put(into.removed, task.base());
        Optimized.put(into.removedDeletes, task.positions());
        into.done(task);
    }

    /** Insert files move to base as they are, and deletes become position deletes; other tasks stay. */
    private static void minor(Executors executors, Subtree task, Optimized into) throws IOException {
        if (!task.hasChanges()) {
            return;
        }
        List<DeleteFile> deletes = executors.positionDeletes(task);
        Optimized.put(into.addedDeletes, deletes);
        Optimized.put(into.added, task.inserts());
        task.data().stream().map(file -> file.node()).distinct().forEach(node ->
                Optimized.put(into.removedDeletes, Executors.positionsOf(task, node)));
        into.done(task);
    }

    private interface Kind {
        void execute(Executors executors, Subtree task, Optimized into) throws IOException;
    }
}
