package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.values.RowText;
import dev.lithify.oracle.values.ValueText;

import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.schema.TableSchema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.DataFilePathFactories;

import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Turns data files and their partitions into JSON objects, with every piece of metadata that Paimon keeps. */
public final class FileDescriber {
    private final FileStoreTable table;
    private final RowType partitionType;
    private final DataFilePathFactories paths;
    private final Map<Long, TableSchema> schemas = new HashMap<>();

    public FileDescriber(FileStoreTable table) {
        this.table = table;
        this.partitionType = table.schema().logicalPartitionType();
        this.paths = new DataFilePathFactories(table.store().pathFactory());
        schemas.put(table.schema().id(), table.schema());
    }

    /** {@code {"dt":"2024-01-01"}}, empty for a table without partitions. */
    public Map<String, Object> partition(BinaryRow partition) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (int i = 0; i < partitionType.getFieldCount(); i++) {
            StringBuilder text = new StringBuilder();
            ValueText.of(partitionType.getTypeAt(i)).append(text, partition, i);
            values.put(partitionType.getFieldNames().get(i), Json.raw(text));
        }
        return values;
    }

    public Map<String, Object> describe(ManifestEntry entry) {
        return describe(entry.partition(), entry.bucket(), entry.totalBuckets(), entry.file());
    }

    public Map<String, Object> describe(CommitMessageImpl message, DataFileMeta file) {
        return describe(message.partition(), message.bucket(), message.totalBuckets(), file);
    }

    public List<Object> describe(CommitMessageImpl message, List<DataFileMeta> files) {
        List<Object> described = new ArrayList<>();
        files.forEach(file -> described.add(describe(message, file)));
        return described;
    }

    private Map<String, Object> describe(BinaryRow partition, int bucket, Integer totalBuckets, DataFileMeta file) {
        List<DataType> keyTypes = keyTypes(file);
        return Json.object(
                "partition", partition(partition),
                "bucket", bucket,
                "totalBuckets", totalBuckets,
                "name", file.fileName(),
                "path", paths.get(partition, bucket).toPath(file).toString(),
                "size", file.fileSize(),
                "rows", file.rowCount(),
                "minKey", row(file.minKey(), keyTypes),
                "maxKey", row(file.maxKey(), keyTypes),
                "keyStats", stats(file.keyStats(), keyTypes),
                "valueStats", stats(file.valueStats(), valueTypes(file)),
                "valueStatsCols", file.valueStatsCols(),
                "minSequence", file.minSequenceNumber(),
                "maxSequence", file.maxSequenceNumber(),
                "schemaId", file.schemaId(),
                "level", file.level(),
                "extraFiles", file.extraFiles(),
                "creationTime", file.creationTime().getMillisecond(),
                "deleteRows", file.deleteRowCount().orElse(null),
                "fileSource", file.fileSource().map(FileSource::name).orElse(null),
                "externalPath", file.externalPath().orElse(null),
                "embeddedIndex", base64(file.embeddedIndex()),
                "firstRowId", file.firstRowId(),
                "writeCols", file.writeCols());
    }

    private TableSchema schemaOf(DataFileMeta file) {
        return schemas.computeIfAbsent(file.schemaId(), id -> table.schemaManager().schema(id));
    }

    private List<DataType> keyTypes(DataFileMeta file) {
        return schemaOf(file).trimmedPrimaryKeysFields().stream().map(DataField::type).toList();
    }

    /** The statistics hold the columns they name, else the columns written, else all. */
    private List<DataType> valueTypes(DataFileMeta file) {
        RowType all = schemaOf(file).logicalRowType();
        List<String> named = file.valueStatsCols() == null ? file.writeCols() : file.valueStatsCols();
        return named == null
                ? all.getFieldTypes()
                : named.stream().map(name -> all.getField(name).type()).toList();
    }

    static Object stats(SimpleStats stats, List<DataType> types) {
        return Json.object(
                "min", row(stats.minValues(), types),
                "max", row(stats.maxValues(), types),
                "nullCounts", counts(stats.nullCounts()));
    }

    /** Rows without fields stand for keys and statistics that a file does not have. */
    private static Object row(BinaryRow row, List<DataType> types) {
        return row.getFieldCount() == 0 ? List.of() : Json.raw(new RowText(types).text(row));
    }

    private static List<Long> counts(BinaryArray counts) {
        List<Long> list = new ArrayList<>();
        for (int i = 0; i < counts.size(); i++) {
            list.add(counts.isNullAt(i) ? null : (Long) counts.getLong(i));
        }
        return list;
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
