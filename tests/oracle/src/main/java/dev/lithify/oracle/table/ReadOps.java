package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.MultisetHash;
import dev.lithify.oracle.values.RowText;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/** Ops that read a table as any Java reader does, merged: read, digest and scan. */
public final class ReadOps {
    private final Tables tables;

    public ReadOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("read", this::read);
        ops.put("digest", this::digest);
        ops.put("scan", this::scan);
    }

    private Object read(Args args) throws Exception {
        ReadBuilder builder = builder(table(args), args);
        Function<InternalRow, String> text = text(builder, args);
        List<String> rows = new ArrayList<>();
        forEach(builder, row -> rows.add(text.apply(row)));
        rows.sort(null);
        return Json.raw("[" + String.join(",", rows) + "]");
    }

    private Object digest(Args args) throws Exception {
        Table table = table(args);
        ReadBuilder builder = builder(table, args);
        Function<InternalRow, String> text = text(builder, args);
        MultisetHash hash = new MultisetHash();
        DistinctKeys keys = DistinctKeys.of(builder.readType(), table.primaryKeys());
        long[] rows = {0};
        forEach(builder, row -> {
            hash.add(text.apply(row));
            keys.add(row);
            rows[0]++;
        });
        return Json.object("rows", rows[0], "distinct_keys", keys.count(), "hash", hash.hex());
    }

    private Object scan(Args args) throws Exception {
        Table table = table(args);
        long[] rows = {0};
        List<Long> nanos = new ArrayList<>();
        for (int i = args.integer("repeat", 1); i > 0; i--) {
            rows[0] = 0;
            long start = System.nanoTime();
            forEach(builder(table, args), row -> rows[0]++);
            nanos.add(System.nanoTime() - start);
        }
        return Json.object("rows", rows[0], "nanos", nanos);
    }

    /** The table at the snapshot or tag that the request names, else at its newest. */
    private Table table(Args args) throws Exception {
        Table table = tables.anyTable(args);
        Map<String, String> travel = new HashMap<>();
        args.findNumber("snapshot_id").ifPresent(id -> travel.put("scan.snapshot-id", Long.toString(id)));
        args.findText("tag").ifPresent(tag -> travel.put("scan.tag-name", tag));
        return travel.isEmpty() ? table : table.copy(travel);
    }

    private static ReadBuilder builder(Table table, Args args) {
        ReadBuilder builder = table.newReadBuilder();
        List<String> projection = args.texts("projection");
        if (!projection.isEmpty()) {
            builder.withReadType(projected(table.rowType(), projection));
        }
        if (args.has("partition")) {
            builder.withPartitionFilter(args.textMap("partition"));
        }
        return builder;
    }

    /**
     * A row that was written as an update is still one when Java merges it, and an insert when Java reads the same
     * row from a file without merging. To a batch reader both are a row that is there, so both are written +I.
     */
    private static Function<InternalRow, String> text(ReadBuilder builder, Args args) {
        RowText text = new RowText(builder.readType());
        if (args.flag("raw_kinds", false)) {
            return text::textWithKind;
        }
        return row -> {
            RowKind kind = row.getRowKind();
            return text.textWithKind(row, kind == RowKind.UPDATE_AFTER ? RowKind.INSERT : kind);
        };
    }

    private static RowType projected(RowType type, List<String> columns) {
        for (String column : columns) {
            if (!type.containsField(column)) {
                throw new IllegalArgumentException("No column '" + column + "' in " + type.getFieldNames());
            }
        }
        return type.project(columns);
    }

    private static void forEach(ReadBuilder builder, Consumer<InternalRow> consumer) throws Exception {
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan())) {
            reader.forEachRemaining(consumer);
        }
    }
}
