package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.RowText;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableScan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Ops that read a table as streaming readers do, snapshot by snapshot, each in the order in which a reader gets the
 * rows: changelog begins at a snapshot, consume where a consumer has stopped.
 */
public final class StreamOps {
    private final Tables tables;

    public StreamOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("changelog", this::changelog);
        ops.put("consume", this::consume);
    }

    private Object changelog(Args args) throws Exception {
        ReadBuilder builder = tables.anyTable(args).newReadBuilder();
        long last = args.number("to_snapshot", Long.MAX_VALUE);

        StreamTableScan scan = builder.newStreamScan();
        scan.restore(args.number("from_snapshot"));
        List<Object> snapshots = new ArrayList<>();
        while (true) {
            TableScan.Plan plan = scan.plan();
            long snapshot = scan.checkpoint() - 1;
            if (plan.splits().isEmpty() || snapshot > last) {
                return snapshots;
            }
            snapshots.add(Json.object("snapshot", snapshot, "rows", rows(builder, plan)));
        }
    }

    /**
     * Reads at most so many plans, and has the consumer's progress written down as a completed checkpoint does. The
     * first plan of a reader is empty if it only finds out where to begin.
     */
    private Object consume(Args args) throws Exception {
        Table table = tables.anyTable(args).copy(Map.of("consumer-id", args.text("consumer")));
        ReadBuilder builder = table.newReadBuilder();
        int most = args.integer("plans", Integer.MAX_VALUE);

        StreamTableScan scan = builder.newStreamScan();
        List<Object> snapshots = new ArrayList<>();
        boolean first = true;
        while (snapshots.size() < most) {
            TableScan.Plan plan = scan.plan();
            if (!plan.splits().isEmpty()) {
                snapshots.add(Json.object("snapshot", scan.checkpoint() - 1, "rows", rows(builder, plan)));
            } else if (!first) {
                break;
            }
            first = false;
        }
        scan.notifyCheckpointComplete(scan.checkpoint());
        return snapshots;
    }

    private static Object rows(ReadBuilder builder, TableScan.Plan plan) throws Exception {
        RowText text = new RowText(builder.readType());
        List<String> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(plan)) {
            reader.forEachRemaining(row -> rows.add(text.textWithKind(row)));
        }
        return Json.raw("[" + String.join(",", rows) + "]");
    }
}
