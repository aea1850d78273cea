package dev.lithify.arctic;

import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.PrimaryKeyedFile;
import com.netease.arctic.data.file.FileNameGenerator;
import com.netease.arctic.io.reader.BaseIcebergPosDeleteReader;
import com.netease.arctic.io.reader.GenericArcticDataReader;
import com.netease.arctic.io.writer.CommonOutputFileFactory;
import com.netease.arctic.io.writer.GenericBaseTaskWriter;
import com.netease.arctic.io.writer.GenericTaskWriters;
import com.netease.arctic.io.writer.SortedPosDeleteWriter;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.table.TableProperties;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.CloseableIterator;
import org.apache.iceberg.util.PropertyUtil;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * What Arctic's optimizer does with one task, from the same parts: Arctic's reader, its filter of deleted rows and
 * its writers. The optimizer's own module is not on Maven Central.
 */
final class Executors {
    private static final Schema POSITION = new Schema(MetadataColumns.FILE_PATH, MetadataColumns.ROW_POSITION);

    private final KeyedTable table;
    private final int taskId;

    Executors(KeyedTable table, int taskId) {
        this.table = table;
        this.taskId = taskId;
    }

    /** Rewrites all data files of a task to base files of the write nodes; rows that are deleted go. */
    List<DataFile> rewrite(Subtree task) throws IOException {
        GenericArcticDataReader reader = reader(table.baseTable().schema());
        GenericBaseTaskWriter writer = baseWriter(Subtree.newest(task.data()));
        try (writer; CloseableIterator<Record> rows = reader.readData(task.task(table.spec(), file -> true))) {
            while (rows.hasNext()) {
                writer.write(rows.next());
            }
            return Arrays.asList(writer.complete().dataFiles());
        }
    }

    /** Turns the deleted rows of a task into position deletes, a file for each node that has data. */
    List<DeleteFile> positionDeletes(Subtree task) throws IOException {
        List<DeleteFile> files = new ArrayList<>();
        Set<Long> nodes = new TreeSet<>();
        task.data().forEach(file -> nodes.add(file.node().getId()));
        for (long id : nodes) {
            files.addAll(positionDeletes(task, DataTreeNode.ofId(id)));
        }
        return files;
    }

    private List<DeleteFile> positionDeletes(Subtree task, DataTreeNode node) throws IOException {
        List<PrimaryKeyedFile> covered = new ArrayList<>(task.deletes());
        task.data().stream().filter(file -> file.node().equals(node)).forEach(covered::add);
        SortedPosDeleteWriter<Record> writer = GenericTaskWriters.builderFor(table)
                .withTransactionId(Subtree.newest(covered))
                .withTaskId(taskId)
                .buildBasePosDeleteWriter(node.mask(), node.index(), task.partition());
        try (CloseableIterator<Record> deleted = reader(POSITION)
                .readDeletedData(task.task(table.spec(), file -> file.node().equals(node)))) {
            deleted.forEachRemaining(row -> writer.delete((String) row.get(0), (Long) row.get(1)));
        }
        copy(positionsOf(task, node), writer);
        return writer.complete();
    }

    /** Positions that were deleted before; the new file replaces the old ones of its node. */
    private void copy(List<DeleteFile> before, SortedPosDeleteWriter<Record> into) throws IOException {
        BaseIcebergPosDeleteReader reader = new BaseIcebergPosDeleteReader(table.io(), before);
        try (CloseableIterable<Record> rows = reader.readDeletes()) {
            rows.forEach(row -> into.delete(reader.readPath(row), reader.readPos(row)));
        }
    }

    static List<DeleteFile> positionsOf(Subtree task, DataTreeNode node) {
        return task.positions().stream()
                .filter(file -> FileNameGenerator.parseFileNodeFromFileName(file.path().toString()).equals(node))
                .toList();
    }

    /** Without source nodes: no task has delete rows of others, and Arctic 0.4.1 fails with keys of dates then. */
    private GenericArcticDataReader reader(Schema projection) {
        return new GenericArcticDataReader(table.io(), table.baseTable().schema(), projection,
                table.primaryKeySpec(), null, true, IdentityPartitionConverters::convertConstant);
    }

    private GenericBaseTaskWriter baseWriter(long transactionId) {
        Schema schema = table.baseTable().schema();
        return new GenericBaseTaskWriter(FileFormat.PARQUET, new GenericAppenderFactory(schema, table.spec()),
                new CommonOutputFileFactory(table.baseLocation(), table.spec(), FileFormat.PARQUET, table.io(),
                        table.baseTable().encryption(), 0, taskId, transactionId),
                table.io(),
                number(TableProperties.SELF_OPTIMIZING_TARGET_SIZE,
                        TableProperties.SELF_OPTIMIZING_TARGET_SIZE_DEFAULT),
                number(TableProperties.BASE_FILE_INDEX_HASH_BUCKET,
                        TableProperties.BASE_FILE_INDEX_HASH_BUCKET_DEFAULT) - 1,
                schema, table.spec(), table.primaryKeySpec(), false);
    }

    private long number(String property, long otherwise) {
        return PropertyUtil.propertyAsLong(table.properties(), property, otherwise);
    }
}
