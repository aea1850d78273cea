package dev.lithify.arctic;

import dev.lithify.keyed.Values;
import dev.lithify.oracle.protocol.Json;

import com.netease.arctic.data.DefaultKeyedFile;
import com.netease.arctic.data.file.FileNameGenerator;

import org.apache.iceberg.ContentFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.types.Types;

import java.util.ArrayList;
import java.util.List;

/** What replies say of files; node, type and transaction are those that Arctic reads in the name. */
final class FileJson {
    private final PartitionSpec spec;

    FileJson(PartitionSpec spec) {
        this.spec = spec;
    }

    Object base(ContentFile<?> file, Long sequence) {
        return json(file, sequence, FileNameGenerator.parseBase(file.path().toString()));
    }

    Object change(ContentFile<?> file, long sequence) {
        return json(file, sequence, FileNameGenerator.parseChange(file.path().toString(), sequence));
    }

    private Object json(ContentFile<?> file, Long sequence, DefaultKeyedFile.FileMeta meta) {
        return Json.object(
                "path", file.path().toString(),
                "content", file.content().name(),
                "type", meta.type().shortName(),
                "node", meta.node().getId(),
                "transaction_id", meta.transactionId(),
                "partition", spec.partitionToPath(file.partition()),
                "values", values(file.partition()),
                "sequence", sequence,
                "records", file.recordCount(),
                "size", file.fileSizeInBytes());
    }

    /** Partition values, in the forms that rows have. */
    private List<Object> values(StructLike partition) {
        List<Object> values = new ArrayList<>();
        List<Types.NestedField> fields = spec.partitionType().fields();
        for (int i = 0; i < fields.size(); i++) {
            Object value = partition.get(i, spec.javaClasses()[i]);
            Object generic = IdentityPartitionConverters.convertConstant(fields.get(i).type(), value);
            values.add(Values.toJson(fields.get(i).type(), generic));
        }
        return values;
    }
}
