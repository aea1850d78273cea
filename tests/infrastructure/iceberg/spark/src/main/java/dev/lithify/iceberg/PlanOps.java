package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.actions.BinPackRewriteFilePlanner;
import org.apache.iceberg.actions.RewriteFileGroup;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.spark.sql.AnalysisException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What Java plans: scans with the deletes of each file, and the groups of a rewrite. Nothing is changed. */
final class PlanOps {
    private final Session session;

    PlanOps(Session session) {
        this.session = session;
    }

    void register(Map<String, Op> ops) {
        ops.put("scan", this::scan);
        ops.put("plan_rewrite", this::planRewrite);
    }

    private Object scan(Args args) throws AnalysisException, IOException {
        Table table = session.table(args);
        TableScan scan = table.newScan().filter(session.where(args));
        Optional<Long> snapshot = snapshotId(table, args);
        if (snapshot.isPresent()) {
            scan = scan.useSnapshot(snapshot.get());
        }
        boolean listed = args.flag("listed", true);
        FileJson json = new FileJson(table);
        List<Object> tasks = new ArrayList<>();
        long count = 0;
        try (CloseableIterable<FileScanTask> planned = scan.planFiles()) {
            for (FileScanTask task : planned) {
                count++;
                if (listed) {
                    tasks.add(Json.object("file", json.of(task.file()), "deletes", json.of(task.deletes())));
                }
            }
        }
        return listed ? tasks : count;
    }

    private Object planRewrite(Args args) throws AnalysisException, IOException {
        Table table = session.table(args);
        Long snapshot = snapshotId(table, args)
                .orElseGet(() -> table.currentSnapshot() == null ? null : table.currentSnapshot().snapshotId());
        BinPackRewriteFilePlanner planner =
                new BinPackRewriteFilePlanner(table, session.where(args), snapshot, false);
        planner.init(args.textMap("options"));
        List<Object> groups = new ArrayList<>();
        try (CloseableIterable<RewriteFileGroup> planned = planner.plan().groups()) {
            planned.forEach(group -> groups.add(group(table, group)));
        }
        return groups;
    }

    private static Object group(Table table, RewriteFileGroup group) {
        return Json.object(
                "index", group.info().globalIndex(),
                "partition", FileJson.partition(table.spec().partitionType(), group.info().partition()),
                "files", group.fileScanTasks().stream().map(task -> task.file().location()).toList(),
                "bytes", group.inputFilesSizeInBytes(),
                "output_spec_id", group.outputSpecId(),
                "expected_output_files", group.expectedOutputFiles(),
                "input_split_size", group.inputSplitSize(),
                "max_output_file_size", group.maxOutputFileSize());
    }

    private static Optional<Long> snapshotId(Table table, Args args) {
        return args.findNumber("snapshot_id").or(() -> args.findText("branch").map(branch -> {
            SnapshotRef ref = table.refs().get(branch);
            if (ref == null) {
                throw args.wrong("branch", "one of " + table.refs().keySet(), branch);
            }
            return ref.snapshotId();
        }));
    }
}
