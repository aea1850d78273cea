package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Json;

import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SingleValueParser;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What manifests say of files, as JSON; values of partitions in Iceberg's own JSON form. */
final class FileJson {
    private final Map<Integer, PartitionSpec> specs;

    FileJson(Table table) {
        this.specs = table.specs();
    }

    List<Object> of(Collection<? extends ContentFile<?>> files) {
        return files.stream().map(this::of).toList();
    }

    Object of(ContentFile<?> file) {
        Map<String, Object> json = Json.object(
                "content", file.content().name(),
                "path", file.location(),
                "format", file.format().name(),
                "spec_id", file.specId(),
                "partition", partition(specs.get(file.specId()).partitionType(), file.partition()),
                "record_count", file.recordCount(),
                "size", file.fileSizeInBytes(),
                "data_sequence_number", file.dataSequenceNumber(),
                "file_sequence_number", file.fileSequenceNumber(),
                "sort_order_id", file.sortOrderId(),
                "split_offsets", file.splitOffsets());
        if (file instanceof DataFile data) {
            json.put("first_row_id", data.firstRowId());
        } else if (file instanceof DeleteFile deletes) {
            json.put("equality_ids", deletes.equalityFieldIds());
            json.put("referenced_data_file", deletes.referencedDataFile());
            json.put("content_offset", deletes.contentOffset());
            json.put("content_size", deletes.contentSizeInBytes());
        }
        return json;
    }

    static Object partition(Types.StructType type, StructLike partition) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (int i = 0; i < type.fields().size(); i++) {
            Types.NestedField field = type.fields().get(i);
            values.put(field.name(), value(field.type(), partition.get(i, field.type().typeId().javaClass())));
        }
        return values;
    }

    private static Object value(Type type, Object value) {
        return value == null ? null : Json.raw(SingleValueParser.toJson(type, value));
    }
}
