package dev.lithify.mixed;

import dev.lithify.keyed.Values;
import dev.lithify.oracle.protocol.Args;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.Types;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Files that somebody has written, with the metrics of their footers, and live files by their paths. */
final class StoreFiles {
    private final Table table;
    private final Map<String, DataFile> data = new HashMap<>();
    private final Map<String, DeleteFile> deletes = new HashMap<>();

    StoreFiles(Table table) {
        this.table = table;
    }

    DataFile data(Args file) {
        InputFile input = table.io().newInputFile(file.text("path"));
        DataFiles.Builder builder = DataFiles.builder(table.spec())
                .withInputFile(input)
                .withFormat(FileFormat.PARQUET)
                .withMetrics(metrics(input, MetricsConfig.forTable(table)));
        return table.spec().isUnpartitioned()
                ? builder.build()
                : builder.withPartition(partition(file.nodes("values"))).build();
    }

    DeleteFile positions(Args file) {
        InputFile input = table.io().newInputFile(file.text("path"));
        FileMetadata.Builder builder = FileMetadata.deleteFileBuilder(table.spec())
                .ofPositionDeletes()
                .withInputFile(input)
                .withFormat(FileFormat.PARQUET)
                .withMetrics(metrics(input, MetricsConfig.forPositionDelete(table)));
        return table.spec().isUnpartitioned()
                ? builder.build()
                : builder.withPartition(partition(file.nodes("values"))).build();
    }

    private static Metrics metrics(InputFile file, MetricsConfig config) {
        return ParquetUtil.fileMetrics(file, config);
    }

    private StructLike partition(List<JsonNode> values) {
        Types.StructType type = table.spec().partitionType();
        return new InternalRecordWrapper(type).wrap(Values.record(new Schema(type.fields()), values));
    }

    DataFile live(Args file) {
        plan();
        return Optional.ofNullable(data.get(file.text("path")))
                .orElseThrow(() -> file.wrong("path", "a live file", file.text("path")));
    }

    /** None if a commit has dropped it. */
    Optional<DeleteFile> liveDelete(Args file) {
        plan();
        return Optional.ofNullable(deletes.get(file.text("path")));
    }

    private void plan() {
        if (!data.isEmpty()) {
            return;
        }
        try (CloseableIterable<FileScanTask> tasks = table.newScan().includeColumnStats().planFiles()) {
            for (FileScanTask task : tasks) {
                data.put(task.file().location(), task.file());
                task.deletes().forEach(each -> deletes.put(each.location(), each));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
