package dev.lithify.versions;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManagerImpl;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.RowKind;

/**
 * Makes the same small tables with whatever release of Paimon it is compiled against.
 *
 * <p>It keeps to what every release since 0.4 has, so that all of them run the same history; what came later is
 * reached by reflection. The README beside it says what the tables hold.
 */
public final class Main {

    private static final String DATABASE = "db";

    private final Catalog catalog;
    private final String scratch;

    private Main(Path warehouse) throws Exception {
        this.catalog = CatalogFactory.createCatalog(
                CatalogContext.create(new org.apache.paimon.fs.Path(warehouse.toUri())));
        this.scratch = Files.createTempDirectory("paimon-versions").toString();
        catalog.createDatabase(DATABASE, true);
    }

    public static void main(String[] args) throws Exception {
        Main main = new Main(Path.of(args[0]));
        main.partitioned();
        main.tall();
        if (CoreOptions.BUCKET.defaultValue() == 1) {
            main.withoutOptions();
        }
        if (main.hasDynamicBuckets()) {
            main.dynamic();
        }
    }

    /** Two days of two buckets: level 0, the top level, deletes, and a column that was added later. */
    private void partitioned() throws Exception {
        create("t", Map.of("bucket", "2", "write-only", "true"));
        write("t", upsert("a", 1, "1"), upsert("a", 2, "1"), upsert("a", 3, "1"), upsert("a", 4, "1"),
                upsert("b", 1, "1"), upsert("b", 2, "1"), upsert("b", 3, null));
        write("t", upsert("a", 3, "2"), upsert("a", 4, "2"), upsert("a", 5, null), upsert("a", 6, "2"));
        compact("t", "a", 2);
        catalog.alterTable(identifier("t"), List.of(SchemaChange.addColumn("extra", DataTypes.STRING())), false);
        write("t", upsert("a", 5, "3", "x"), upsert("a", 6, "3", null), upsert("a", 7, "3", "x"),
                upsert("b", 3, "3", "y"), upsert("b", 4, "3", "y"));
        write("t", delete("a", 1), delete("a", 4), delete("a", 5), delete("b", 2));
    }

    /** A large file at the top, and small ones above it that a minor compaction moves as they are. */
    private void tall() throws Exception {
        create("tall", Map.of("bucket", "1", "write-only", "true"));
        GenericRow[] rows = new GenericRow[600];
        for (int id = 0; id < rows.length; id++) {
            rows[id] = upsert("a", id, Integer.toHexString(id * 0x9e3779b9));
        }
        write("tall", rows);
        compact("tall", "a", 1);
        for (int start = 1000; start < 1400; start += 100) {
            write("tall", upsert("a", start, "1"), upsert("a", start + 1, null));
        }
    }

    /** No options at all: what a release takes for granted, later ones must know of it. */
    private void withoutOptions() throws Exception {
        create("plain", Map.of());
        write("plain", upsert("a", 1, "1"), upsert("a", 2, "1"));
        write("plain", upsert("a", 2, "2"));
    }

    /** Dynamic buckets, whose index says which key is in which. */
    private void dynamic() throws Exception {
        create("dynamic", Map.of("bucket", "-1", "write-only", "true"));
        write("dynamic", upsert("a", 1, "1"), upsert("a", 2, "1"), upsert("a", 3, "1"));
        write("dynamic", upsert("a", 2, "2"), upsert("a", 4, "2"));
    }

    private void create(String name, Map<String, String> options) throws Exception {
        Schema schema = Schema.newBuilder()
                .column("dt", DataTypes.STRING().notNull())
                .column("id", DataTypes.INT().notNull())
                .column("v", DataTypes.STRING())
                .primaryKey(List.of("dt", "id"))
                .partitionKeys(List.of("dt"))
                .options(options)
                .build();
        catalog.createTable(identifier(name), schema, false);
    }

    private void write(String name, GenericRow... rows) throws Exception {
        Table table = catalog.getTable(identifier(name));
        boolean hasDynamicBuckets = name.equals("dynamic");
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(new IOManagerImpl(new String[] {scratch}));
            for (GenericRow row : rows) {
                if (hasDynamicBuckets) {
                    writeTo(write, row, row.getInt(1) % 2);
                } else {
                    write.write(row);
                }
            }
            commit.commit(write.prepareCommit());
        }
    }

    private void compact(String name, String day, int buckets) throws Exception {
        Table table = catalog.getTable(identifier(name)).copy(Map.of("write-only", "false"));
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(new IOManagerImpl(new String[] {scratch}));
            for (int bucket = 0; bucket < buckets; bucket++) {
                write.compact(partition(day), bucket, true);
            }
            commit.commit(write.prepareCommit());
        }
    }

    private boolean hasDynamicBuckets() {
        return writeWithBucket() != null || dynamicBucketRow() != null;
    }

    /** Since 0.7 a writer is told the bucket of a row, before that the row knew it. */
    private void writeTo(BatchTableWrite write, GenericRow row, int bucket) throws Exception {
        Method method = writeWithBucket();
        if (method != null) {
            method.invoke(write, row, bucket);
        } else {
            write.write((InternalRow) dynamicBucketRow()
                    .getConstructor(InternalRow.class, int.class)
                    .newInstance(row, bucket));
        }
    }

    private static Method writeWithBucket() {
        try {
            return BatchTableWrite.class.getMethod("write", InternalRow.class, int.class);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static Class<?> dynamicBucketRow() {
        try {
            return Class.forName("org.apache.paimon.table.sink.DynamicBucketRow");
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static GenericRow upsert(String day, int id, String value) {
        return row(RowKind.INSERT, day, id, new String[] {value});
    }

    private static GenericRow upsert(String day, int id, String value, String extra) {
        return row(RowKind.INSERT, day, id, value, extra);
    }

    private static GenericRow delete(String day, int id) {
        return row(RowKind.DELETE, day, id, null, null);
    }

    private static GenericRow row(RowKind kind, String day, int id, String... values) {
        GenericRow row = new GenericRow(kind, 2 + values.length);
        row.setField(0, BinaryString.fromString(day));
        row.setField(1, id);
        for (int i = 0; i < values.length; i++) {
            row.setField(2 + i, BinaryString.fromString(values[i]));
        }
        return row;
    }

    private static BinaryRow partition(String day) {
        BinaryRow row = new BinaryRow(1);
        BinaryRowWriter writer = new BinaryRowWriter(row);
        writer.writeString(0, BinaryString.fromString(day));
        writer.complete();
        return row;
    }

    private static Identifier identifier(String table) {
        return Identifier.create(DATABASE, table);
    }
}
