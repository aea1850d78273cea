package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.file.FileNameGenerator;
import com.netease.arctic.io.writer.GenericTaskWriters;
import com.netease.arctic.io.writer.SortedPosDeleteWriter;
import com.netease.arctic.op.OverwriteBaseFiles;
import com.netease.arctic.table.KeyedTable;

import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.TaskWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What engines write: changes, base files and position deletes. With `"commit": false` files are written and nothing
 * is committed, so that somebody else may do that.
 */
final class WriteOps {
    private final Tables tables;

    WriteOps(Tables tables) {
        this.tables = tables;
    }

    void register(Map<String, Op> ops) {
        ops.put("begin_transaction", args -> tables.open(args).beginTransaction(args.findText("signature").orElse("")));
        ops.put("write_change", this::writeChange);
        ops.put("write_base", this::writeBase);
        ops.put("overwrite_base", this::overwriteBase);
        ops.put("delete_positions", this::deletePositions);
    }

    private Object writeChange(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        ChangeRowWriter writer = new ChangeRowWriter(table, args.number("transaction_id", 0),
                args.integer("partition_id", 0), args.integer("task_id", 0));
        try (CloseableIterable<Record> rows = Rows.withActions(args, table.changeTable().schema())) {
            for (Record row : rows) {
                writer.writeWithAction(row);
            }
        }
        List<DataFile> files = Arrays.asList(writer.complete().dataFiles());
        return appended(args, table, table.changeTable(), files);
    }

    private Object writeBase(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        return appended(args, table, table.baseTable(), baseFiles(args, table));
    }

    /** What a batch INSERT OVERWRITE does with all partitions, or those that a column's value selects. */
    private Object overwriteBase(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        List<DataFile> files = baseFiles(args, table);
        OverwriteBaseFiles overwrite = table.newOverwriteBaseFiles();
        overwrite.overwriteByRowFilter(args.findText("column")
                .map(column -> (org.apache.iceberg.expressions.Expression)
                        Expressions.equal(column, args.text("value")))
                .orElse(Expressions.alwaysTrue()));
        files.forEach(overwrite::addFile);
        overwrite.updateOptimizedSequenceDynamically(args.number("transaction_id"));
        overwrite.commit();
        return json(table, files, false);
    }

    private static List<DataFile> baseFiles(Args args, KeyedTable table) throws IOException {
        try (TaskWriter<Record> writer = baseWriter(args, table);
                CloseableIterable<Record> rows = Rows.of(args, table.baseTable().schema())) {
            for (Record row : rows) {
                writer.write(row);
            }
            return Arrays.asList(writer.complete().dataFiles());
        }
    }

    private static TaskWriter<Record> baseWriter(Args args, KeyedTable table) {
        if (args.flag("plain_names", false)) {
            return new PlainWriter(table.baseTable());
        }
        return GenericTaskWriters.builderFor(table)
                .withTransactionId(args.number("transaction_id"))
                .withPartitionId(args.integer("partition_id", 0))
                .withTaskId(args.integer("task_id", 0))
                .buildBaseWriter();
    }

    private Object appended(Args args, KeyedTable table, Table store, List<DataFile> files) {
        if (args.flag("commit", true) && !files.isEmpty()) {
            AppendFiles append = store.newAppend();
            files.forEach(append::appendFile);
            append.commit();
        }
        return json(table, files, store == table.changeTable());
    }

    /** Deletes of `{file, positions}` in base, a file for each partition and node, as the minor writes them. */
    private Object deletePositions(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        Map<String, StructLike> partitions = new java.util.HashMap<>();
        TableOps.entries(table.baseTable())
                .forEach(entry -> partitions.put(entry.getFile().path().toString(), entry.getFile().partition()));
        PositionDeletes deletes = new PositionDeletes(table, args);
        for (Args each : args.objects("deletes")) {
            String file = each.text("file");
            StructLike partition = Optional.ofNullable(partitions.get(file))
                    .orElseThrow(() -> each.wrong("file", "a live file of base", file));
            deletes.add(file, partition, each.nodes("positions"));
        }
        List<DeleteFile> files = deletes.complete();
        if (args.flag("commit", true)) {
            RowDelta delta = table.baseTable().newRowDelta();
            files.forEach(delta::addDeletes);
            delta.commit();
        }
        return json(table, files, false);
    }

    private static Object json(KeyedTable table, List<? extends ContentFile<?>> files, boolean isChange) {
        FileJson json = new FileJson(table.spec());
        List<Object> described = new ArrayList<>();
        for (ContentFile<?> file : files) {
            described.add(isChange ? json.change(file, 0) : json.base(file, null));
        }
        return described;
    }
}
