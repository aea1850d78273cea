package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.parquet.ParquetUtil;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Commits that SQL has no words for: what Flink commits, and files that something else has written. */
final class DeltaOps {
    private final Session session;

    DeltaOps(Session session) {
        this.session = session;
    }

    void register(Map<String, Op> ops) {
        ops.put("row_delta", this::rowDelta);
        ops.put("append_files", this::appendFiles);
    }

    /** Rows, equality deletes and position deletes in one snapshot, in the order of a Flink checkpoint. */
    private Object rowDelta(Args args) throws Exception {
        Table table = session.table(args);
        List<DeleteFile> deletes = new ArrayList<>();
        for (Args each : args.objects("equality")) {
            deletes.addAll(new RowFiles(session, table, each).equality(each.texts("columns"), each.text("rows")));
        }
        if (args.has("positions")) {
            deletes.addAll(new PositionFiles(table)
                    .write(args.objects("positions"), args.flag("per_file", true)));
        }
        List<DataFile> data = new ArrayList<>();
        args.findText("append").ifPresent(query -> data.addAll(new RowFiles(session, table, args).data(query)));
        RowDelta delta = table.newRowDelta();
        if (table.currentSnapshot() != null) {
            delta.validateFromSnapshot(table.currentSnapshot().snapshotId());
        }
        deletes.forEach(delta::addDeletes);
        data.forEach(delta::addRows);
        return committed(table, delta, args, data, deletes);
    }

    /** Parquet files that are there already, with the metrics of their footers. */
    private Object appendFiles(Args args) throws Exception {
        Table table = session.table(args);
        List<DataFile> data = args.objects("files").stream().map(each -> described(table, each)).toList();
        AppendFiles append = table.newAppend();
        data.forEach(append::appendFile);
        return committed(table, append, args, data, List.of());
    }

    private static DataFile described(Table table, Args each) {
        InputFile file = table.io().newInputFile(each.text("path"));
        PartitionSpec spec = table.specs().get(each.integer("spec_id", table.spec().specId()));
        String mapping = table.properties().get("schema.name-mapping.default");
        DataFiles.Builder builder = DataFiles.builder(spec)
                .withInputFile(file)
                .withFormat(FileFormat.PARQUET)
                .withMetrics(ParquetUtil.fileMetrics(
                        file,
                        MetricsConfig.forTable(table),
                        mapping == null ? null : NameMappingParser.fromJson(mapping)));
        each.findText("partition").ifPresent(builder::withPartitionPath);
        return builder.build();
    }

    static <T> Object committed(
            Table table, SnapshotUpdate<T> update, Args args, List<DataFile> data, List<DeleteFile> deletes) {
        args.findText("branch").ifPresent(update::toBranch);
        args.textMap("properties").forEach(update::set);
        update.commit();
        table.refresh();
        Snapshot made = args.findText("branch").map(table::snapshot).orElseGet(table::currentSnapshot);
        FileJson json = new FileJson(table);
        return Json.object(
                "snapshot_id", made.snapshotId(), "data", json.of(data), "deletes", json.of(deletes));
    }
}
