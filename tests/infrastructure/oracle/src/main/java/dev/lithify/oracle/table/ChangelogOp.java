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

/** What a streaming reader sees, snapshot by snapshot, each in the order in which the reader gets the rows. */
public final class ChangelogOp implements Op {
    private final Tables tables;

    public ChangelogOp(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        Table table = tables.anyTable(args);
        ReadBuilder builder = table.newReadBuilder();
        RowText text = new RowText(builder.readType());
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
            snapshots.add(Json.object("snapshot", snapshot, "rows", rows(builder, plan, text)));
        }
    }

    private static Object rows(ReadBuilder builder, TableScan.Plan plan, RowText text) throws Exception {
        List<String> rows = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(plan)) {
            reader.forEachRemaining(row -> rows.add(text.textWithKind(row)));
        }
        return Json.raw("[" + String.join(",", rows) + "]");
    }
}
