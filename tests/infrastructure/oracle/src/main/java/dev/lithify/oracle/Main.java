package dev.lithify.oracle;

import dev.lithify.oracle.bundle.OptionsOp;
import dev.lithify.oracle.bundle.SketchOps;
import dev.lithify.oracle.compact.CompactOps;
import dev.lithify.oracle.compact.PostponeOps;
import dev.lithify.oracle.planner.AppendPlannerOps;
import dev.lithify.oracle.planner.ClusterPlannerOps;
import dev.lithify.oracle.planner.PlannerOps;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.protocol.Server;
import dev.lithify.oracle.table.Commits;
import dev.lithify.oracle.table.DeleteOps;
import dev.lithify.oracle.table.FileIndexOp;
import dev.lithify.oracle.table.FileOps;
import dev.lithify.oracle.table.GenerateOp;
import dev.lithify.oracle.table.IndexOp;
import dev.lithify.oracle.table.KeyValueOp;
import dev.lithify.oracle.table.LockOps;
import dev.lithify.oracle.table.MaintenanceOps;
import dev.lithify.oracle.table.ManifestOps;
import dev.lithify.oracle.table.PlanBench;
import dev.lithify.oracle.table.ReadOps;
import dev.lithify.oracle.table.SchemaOps;
import dev.lithify.oracle.table.StreamOps;
import dev.lithify.oracle.table.Tables;
import dev.lithify.oracle.table.WriteOps;

import org.apache.paimon.types.DataTypeRoot;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The oracle: real Apache Paimon behind JSON lines on standard input and output, for the tests of Lithify.
 * Standard output belongs to the protocol alone; what any library prints goes to standard error.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        FileOutputStream replies = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        new Server(ops(), requests, replies).serve();
        System.exit(0);
    }

    private static Map<String, Op> ops() {
        Tables tables = new Tables();
        Commits commits = new Commits();
        Map<String, Op> ops = new HashMap<>();
        ops.put("ping", args -> "pong");
        new SchemaOps(tables).register(ops);
        new WriteOps(tables, commits).register(ops);
        new DeleteOps(tables, commits).register(ops);
        ops.put("generate", new GenerateOp(tables));
        new ReadOps(tables).register(ops);
        new StreamOps(tables).register(ops);
        new FileOps(tables).register(ops);
        new ManifestOps(tables).register(ops);
        ops.put("bench_plan", new PlanBench(tables));
        ops.put("kv_rows", new KeyValueOp(tables));
        ops.put("index_files", new IndexOp(tables));
        ops.put("file_index_rows", new FileIndexOp(tables));
        new LockOps(tables).register(ops);
        new MaintenanceOps(tables).register(ops);
        new CompactOps(tables, commits).register(ops);
        new PostponeOps(tables).register(ops);
        PlannerOps.register(ops);
        new AppendPlannerOps(tables).register(ops);
        new ClusterPlannerOps(tables).register(ops);
        ops.put("options", new OptionsOp());
        SketchOps.register(ops);
        ops.put("types", args -> DataTypeRoot.values());
        return ops;
    }
}
