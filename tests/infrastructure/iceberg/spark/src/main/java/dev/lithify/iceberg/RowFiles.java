package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.SparkValueConverter;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.functions;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Writes rows of queries as data files and equality-delete files, one a partition, by Iceberg's generic writers,
 * which are those of Flink but for its row class. Nothing is committed.
 */
final class RowFiles {
    private final Session session;
    private final Table table;
    private final PartitionSpec spec;
    private final FileFormat format;
    private final OutputFileFactory names;

    RowFiles(Session session, Table table, Args how) {
        this.session = session;
        this.table = table;
        this.spec = table.specs().get(how.integer("spec_id", table.spec().specId()));
        if (spec == null) {
            throw how.wrong("spec_id", "one of " + table.specs().keySet(), how.integer("spec_id"));
        }
        this.format = FileFormat.fromString(how.findText("format").orElse("parquet").toUpperCase(Locale.ROOT));
        this.names = OutputFileFactory.builderFor(table, 1, 1).defaultSpec(spec).format(format).build();
    }

    /** Data files with the rows of a query, which gives all columns of the table. */
    List<DataFile> data(String query) {
        List<DataFile> files = new ArrayList<>();
        GenericAppenderFactory writers =
                new GenericAppenderFactory(table, table.schema(), spec, Map.of(), null, null);
        byPartition(table.schema(), session.query(query)).forEach((key, rows) -> {
            DataWriter<Record> writer = writers.newDataWriter(output(key), format, partition(key));
            try (writer) {
                rows.forEach(writer::write);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            files.add(writer.toDataFile());
        });
        return files;
    }

    /** Equality deletes of some columns; the query gives these, and those that the partitions come from. */
    List<DeleteFile> equality(List<String> columns, String query) {
        Schema deleted = table.schema().select(columns);
        int[] ids = columns.stream().mapToInt(name -> table.schema().findField(name).fieldId()).toArray();
        Set<Integer> given = new HashSet<>(Arrays.stream(ids).boxed().toList());
        spec.fields().forEach(field -> given.add(field.sourceId()));
        GenericAppenderFactory writers =
                new GenericAppenderFactory(table, table.schema(), spec, Map.of(), ids, deleted);
        List<DeleteFile> files = new ArrayList<>();
        byPartition(TypeUtil.select(table.schema(), given), session.query(query)).forEach((key, rows) -> {
            EqualityDeleteWriter<Record> writer = writers.newEqDeleteWriter(output(key), format, partition(key));
            try (writer) {
                rows.forEach(row -> writer.write(projected(deleted, row)));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            files.add(writer.toDeleteFile());
        });
        return files;
    }

    private Map<PartitionKey, List<Record>> byPartition(Schema schema, Dataset<Row> rows) {
        PartitionKey key = new PartitionKey(spec, schema);
        InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
        Map<PartitionKey, List<Record>> partitions = new LinkedHashMap<>();
        for (Row row : rows.select(casts(schema)).collectAsList()) {
            Record written = generic(schema, SparkValueConverter.convert(schema, row));
            key.partition(wrapper.wrap(written));
            partitions.computeIfAbsent(key.copy(), copy -> new ArrayList<>()).add(written);
        }
        return partitions;
    }

    /** Spark's converter gives dates and times as numbers; the generic writers want objects. */
    private static Record generic(Schema schema, Record record) {
        for (Types.NestedField field : schema.columns()) {
            Object value = record.getField(field.name());
            record.setField(field.name(), IdentityPartitionConverters.convertConstant(field.type(), value));
        }
        return record;
    }

    private static Column[] casts(Schema schema) {
        return schema.columns().stream()
                .map(field -> functions.col("`" + field.name() + "`")
                        .cast(SparkSchemaUtil.convert(field.type())).as(field.name()))
                .toArray(Column[]::new);
    }

    private static Record projected(Schema schema, Record row) {
        Record projected = GenericRecord.create(schema);
        for (Types.NestedField field : schema.columns()) {
            projected.setField(field.name(), row.getField(field.name()));
        }
        return projected;
    }

    private EncryptedOutputFile output(PartitionKey key) {
        return spec.isUnpartitioned() ? names.newOutputFile() : names.newOutputFile(spec, key);
    }

    private PartitionKey partition(PartitionKey key) {
        return spec.isUnpartitioned() ? null : key;
    }
}
