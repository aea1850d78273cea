package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Table;
import org.apache.iceberg.actions.RewriteDataFiles;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.spark.actions.SparkActions;
import org.apache.spark.sql.AnalysisException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Java's own rewrites: the whole of `rewrite_data_files`, and its commit alone for files that a test chooses. */
final class RewriteOps {
    private final Session session;

    RewriteOps(Session session) {
        this.session = session;
    }

    void register(Map<String, Op> ops) {
        ops.put("rewrite", this::rewrite);
        ops.put("rewrite_files", this::rewriteFiles);
    }

    private Object rewrite(Args args) throws AnalysisException {
        RewriteDataFiles action = SparkActions.get(session.spark())
                .rewriteDataFiles(session.table(args))
                .options(args.textMap("options"))
                .filter(session.where(args));
        List<String> zOrder = args.texts("z_order");
        if (!zOrder.isEmpty()) {
            action = action.zOrder(zOrder.toArray(String[]::new));
        } else if (args.flag("sorted", false)) {
            action = action.sort();
        }
        RewriteDataFiles.Result result = action.execute();
        return Json.object(
                "groups", result.rewriteResults().size(),
                "rewritten_files", result.rewrittenDataFilesCount(),
                "added_files", result.addedDataFilesCount(),
                "rewritten_bytes", result.rewrittenBytesCount(),
                "failed_files", result.failedDataFilesCount(),
                "removed_delete_files", result.removedDeleteFilesCount());
    }

    /** Commits a replacement as RewriteDataFilesCommitManager does, from the snapshot that it was planned on. */
    private Object rewriteFiles(Args args) throws Exception {
        Table table = session.table(args);
        long start = args.number("start_snapshot_id");
        RewriteFiles rewrite = table.newRewrite().validateFromSnapshot(start);
        if (args.flag("use_starting_sequence_number", true)) {
            rewrite.dataSequenceNumber(table.snapshot(start).sequenceNumber());
        }
        for (DataFile file : dataFiles(table, start, new HashSet<>(args.texts("files")))) {
            rewrite.deleteFile(file);
        }
        List<DataFile> added = new RowFiles(session, table, args).data(args.text("rows"));
        added.forEach(rewrite::addFile);
        return DeltaOps.committed(table, rewrite, args, added, List.of());
    }

    private static List<DataFile> dataFiles(Table table, long snapshot, Set<String> paths) throws Exception {
        List<DataFile> files = new ArrayList<>();
        try (CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(snapshot).planFiles()) {
            for (FileScanTask task : tasks) {
                if (paths.remove(task.file().location())) {
                    files.add(task.file());
                }
            }
        }
        if (!paths.isEmpty()) {
            throw new IllegalArgumentException("Not live in snapshot " + snapshot + ": " + paths);
        }
        return files;
    }
}
