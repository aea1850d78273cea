package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.RowText;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.SegmentsCache;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Ops that read a table as any Java reader does, merged: read, digest, filtered_digests and scan. A filter lets
 * Paimon skip what cannot match by its statistics, and is then applied to every row: what comes out differs from
 * the rows that match only if something was skipped by mistake.
 */
public final class ReadOps {
    private static final MemorySize MANIFEST_CACHE = MemorySize.ofMebiBytes(64);

    private final Tables tables;

    public ReadOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("read", this::read);
        ops.put("digest", this::digest);
        ops.put("filtered_digests", this::filteredDigests);
        ops.put("scan", this::scan);
    }

    private Object read(Args args) throws Exception {
        ReadBuilder builder = filtered(table(args), args);
        Function<InternalRow, String> text = text(builder, args);
        List<String> rows = new ArrayList<>();
        forEach(builder, row -> rows.add(text.apply(row)));
        if (!args.flag("in_order", false)) {
            rows.sort(null);
        }
        return Json.raw("[" + String.join(",", rows) + "]");
    }

    private Object digest(Args args) throws Exception {
        Table table = table(args);
        return digest(table, filtered(table, args), args);
    }

    /** A digest per filter: of one read each, or all of them out of one read of everything. */
    private Object filteredDigests(Args args) throws Exception {
        Table table = table(args);
        List<Args> filters = args.objects("filters");
        if (!args.flag("skipping", true)) {
            return digestsOfOneRead(table, filters, args);
        }
        if (table instanceof FileStoreTable fileStoreTable) {
            fileStoreTable.setManifestCache(SegmentsCache.create(MANIFEST_CACHE, Long.MAX_VALUE));
        }
        List<Object> digests = new ArrayList<>();
        for (Args filter : filters) {
            digests.add(digest(table, filtered(table, filtered(table, args), filter), args));
        }
        return digests;
    }

    private static Object digest(Table table, ReadBuilder builder, Args args) throws Exception {
        RowDigest digest = new RowDigest(table, builder.readType(), text(builder, args));
        forEach(builder, digest::add);
        return digest.result();
    }

    private static Object digestsOfOneRead(Table table, List<Args> filters, Args args) throws Exception {
        ReadBuilder builder = filtered(table, args);
        FilterParser parser = new FilterParser(builder.readType());
        List<Predicate> predicates = filters.stream().map(parser::parse).toList();
        List<RowDigest> digests = new ArrayList<>();
        for (int i = 0; i < predicates.size(); i++) {
            digests.add(new RowDigest(table, builder.readType(), text(builder, args)));
        }
        forEach(builder, row -> {
            for (int i = 0; i < predicates.size(); i++) {
                if (predicates.get(i).test(row)) {
                    digests.get(i).add(row);
                }
            }
        });
        return digests.stream().map(RowDigest::result).toList();
    }

    private Object scan(Args args) throws Exception {
        Table table = table(args);
        long[] rows = {0};
        List<Long> nanos = new ArrayList<>();
        for (int i = args.integer("repeat", 1); i > 0; i--) {
            rows[0] = 0;
            long start = System.nanoTime();
            forEach(filtered(table, args), row -> rows[0]++);
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

    private static ReadBuilder filtered(Table table, Args args) {
        ReadBuilder builder = builder(table, args);
        return args.has("filter") ? filtered(table, builder, args.object("filter")) : builder;
    }

    /** The column has to be read, else Paimon could not apply the filter to the rows. */
    private static ReadBuilder filtered(Table table, ReadBuilder builder, Args filter) {
        if (!builder.readType().containsField(filter.text("column"))) {
            throw filter.wrong("column", "a column that is read", filter.text("column"));
        }
        return builder.withFilter(new FilterParser(table.rowType()).parse(filter));
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
        TableRead read = builder.newRead().executeFilter();
        try (RecordReader<InternalRow> reader = read.createReader(builder.newScan().plan())) {
            reader.forEachRemaining(consumer);
        }
    }
}
