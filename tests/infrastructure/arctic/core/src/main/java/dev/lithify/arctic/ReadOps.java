package dev.lithify.arctic;

import dev.lithify.keyed.Values;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import com.netease.arctic.io.reader.GenericArcticDataReader;
import com.netease.arctic.scan.CombinedScanTask;
import com.netease.arctic.scan.KeyedTableScanTask;
import com.netease.arctic.table.KeyedTable;

import org.apache.iceberg.Files;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.parquet.Parquet;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Rows of keyed tables, through Arctic's own reader. They are in the reply, or in a Parquet file `into`; then the
 * reply is their number.
 */
final class ReadOps {
    private final Tables tables;

    ReadOps(Tables tables) {
        this.tables = tables;
    }

    void register(Map<String, Op> ops) {
        ops.put("read", this::read);
        ops.put("read_base", this::readBase);
    }

    /** Merged on read. */
    private Object read(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        try (Output output = new Output(args, table.baseTable().schema())) {
            GenericArcticDataReader reader = reader(table);
            try (CloseableIterable<CombinedScanTask> tasks = table.newScan().planTasks()) {
                for (CombinedScanTask combined : tasks) {
                    for (KeyedTableScanTask task : combined.tasks()) {
                        drain(reader.readData(task), output);
                    }
                }
            }
            return output.result();
        }
    }

    /** Of the base store alone, by Iceberg, which applies position deletes whatever their names are. */
    private Object readBase(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        try (Output output = new Output(args, table.baseTable().schema());
                CloseableIterable<Record> rows = IcebergGenerics.read(table.baseTable()).build()) {
            rows.forEach(output);
            return output.result();
        }
    }

    static GenericArcticDataReader reader(KeyedTable table) {
        Schema schema = table.baseTable().schema();
        return new GenericArcticDataReader(table.io(), schema, schema, table.primaryKeySpec(), null, true,
                IdentityPartitionConverters::convertConstant);
    }

    private static void drain(CloseableIterator<Record> rows, Consumer<Record> into) throws IOException {
        try (rows) {
            rows.forEachRemaining(into);
        }
    }

    private static final class Output implements Consumer<Record>, Closeable {
        private final Schema schema;
        private final List<Object> rows = new ArrayList<>();
        private final Optional<FileAppender<Record>> file;
        private long count;

        Output(Args args, Schema schema) throws IOException {
            this.schema = schema;
            this.file = args.has("into") ? Optional.of(appender(args.text("into"), schema)) : Optional.empty();
        }

        @Override
        public void accept(Record row) {
            count++;
            file.ifPresentOrElse(appender -> appender.add(row), () -> rows.add(Values.json(schema, row)));
        }

        Object result() {
            return file.isPresent() ? count : rows;
        }

        @Override
        public void close() throws IOException {
            if (file.isPresent()) {
                file.get().close();
            }
        }

        private static FileAppender<Record> appender(String path, Schema schema) throws IOException {
            return Parquet.write(Files.localOutput(path))
                    .schema(schema)
                    .createWriterFunc(GenericParquetWriter::buildWriter)
                    .overwrite()
                    .build();
        }
    }
}
