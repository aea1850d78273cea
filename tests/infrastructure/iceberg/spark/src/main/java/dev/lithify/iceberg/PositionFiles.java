package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;

import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFileFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes positions of deleted rows: position-delete files up to version 2, vectors in version 3. What was deleted
 * before is not looked at, so a vector may be a file's second one. Nothing is committed.
 */
final class PositionFiles {
    private final Table table;
    private final Map<String, DataFile> live = new HashMap<>();

    PositionFiles(Table table) throws IOException {
        this.table = table;
        try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
            tasks.forEach(task -> live.put(task.file().location(), task.file()));
        }
    }

    /** Delete files for `[{file, positions}]`; one for all files of a partition unless `per_file`. */
    List<DeleteFile> write(List<Args> deletes, boolean perFile) throws IOException {
        if (TableUtil.formatVersion(table) >= 3) {
            return vectors(deletes);
        }
        Map<Object, List<Args>> groups = new LinkedHashMap<>();
        for (Args each : deletes) {
            DataFile file = dataFile(each);
            Object group = perFile ? file.location() : List.of(file.specId(), file.partition().toString());
            groups.computeIfAbsent(group, key -> new ArrayList<>()).add(each);
        }
        List<DeleteFile> written = new ArrayList<>();
        for (List<Args> group : groups.values()) {
            written.add(positions(group));
        }
        return written;
    }

    private DeleteFile positions(List<Args> deletes) throws IOException {
        DataFile first = dataFile(deletes.get(0));
        PartitionSpec spec = spec(first);
        StructLike partition = spec.isUnpartitioned() ? null : first.partition();
        OutputFileFactory names =
                OutputFileFactory.builderFor(table, 1, 1).defaultSpec(spec).suffix("deletes").build();
        PositionDeleteWriter<Record> writer =
                new GenericAppenderFactory(table, table.schema(), spec, Map.of(), null, null)
                        .newPosDeleteWriter(
                                partition == null ? names.newOutputFile() : names.newOutputFile(spec, partition),
                                FileFormat.PARQUET,
                                partition);
        try (writer) {
            PositionDelete<Record> delete = PositionDelete.create();
            deletes.stream().sorted(Comparator.comparing(each -> each.text("file"))).forEach(each ->
                    each.nodes("positions").forEach(position ->
                            writer.write(delete.set(each.text("file"), position.longValue()))));
        }
        return writer.toDeleteFile();
    }

    private List<DeleteFile> vectors(List<Args> deletes) throws IOException {
        OutputFileFactory names = OutputFileFactory.builderFor(table, 1, 1).format(FileFormat.PUFFIN).build();
        BaseDVFileWriter writer = new BaseDVFileWriter(names, path -> null);
        try (writer) {
            for (Args each : deletes) {
                DataFile file = dataFile(each);
                each.nodes("positions").forEach(position ->
                        writer.delete(file.location(), position.longValue(), spec(file), file.partition()));
            }
        }
        return writer.result().deleteFiles();
    }

    private DataFile dataFile(Args each) {
        DataFile file = live.get(each.text("file"));
        if (file == null) {
            throw each.wrong("file", "a live data file", each.text("file"));
        }
        return file;
    }

    private PartitionSpec spec(ContentFile<?> file) {
        return table.specs().get(file.specId());
    }
}
