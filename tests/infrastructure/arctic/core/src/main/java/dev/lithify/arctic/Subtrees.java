package dev.lithify.arctic;

import com.netease.arctic.data.DataFileType;
import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.DefaultKeyedFile;
import com.netease.arctic.data.PrimaryKeyedFile;
import com.netease.arctic.data.file.ContentFileWithSequence;
import com.netease.arctic.data.file.FileNameGenerator;
import com.netease.arctic.scan.ChangeTableIncrementalScan;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.utils.TablePropertyUtil;

import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.io.CloseableIterable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Divides base files and unmerged change files into tasks, partition by partition: down from the root, a node that
 * has files of its own becomes a task with all that is below it.
 */
final class Subtrees {
    private final Map<String, Files> partitions = new LinkedHashMap<>();
    private long newestSequence = 0;

    Subtrees(KeyedTable table, Predicate<String> selected) throws IOException {
        try (CloseableIterable<FileScanTask> tasks =
                table.baseTable().newScan().includeColumnStats().planFiles()) {
            tasks.forEach(task -> files(table, task.file().partition(), selected).add(task));
        }
        try (CloseableIterable<ContentFileWithSequence<?>> changes = changes(table)) {
            for (ContentFileWithSequence<?> change : changes) {
                newestSequence = Math.max(newestSequence, change.getSequenceNumber());
                files(table, change.partition(), selected).add((DataFile) change, change.getSequenceNumber());
            }
        }
        partitions.remove("\0");
    }

    List<Subtree> tasks() {
        List<Subtree> tasks = new ArrayList<>();
        partitions.values().forEach(files -> files.divide(DataTreeNode.ROOT, tasks));
        return tasks;
    }

    /** The largest sequence number of any unmerged change file: the line, once the tasks are committed. */
    long newestSequence() {
        return newestSequence;
    }

    private static CloseableIterable<ContentFileWithSequence<?>> changes(KeyedTable table) {
        ChangeTableIncrementalScan scan = table.changeTable().newChangeScan()
                .fromSequence(TablePropertyUtil.getPartitionOptimizedSequence(table))
                .fromLegacyTransaction(TablePropertyUtil.getLegacyPartitionMaxTransactionId(table));
        scan.includeColumnStats();
        return scan.planFilesWithSequence();
    }

    private Files files(KeyedTable table, StructLike partition, Predicate<String> selected) {
        String path = table.spec().partitionToPath(partition);
        return partitions.computeIfAbsent(selected.test(path) ? path : "\0", none -> new Files(partition));
    }

    /** The files of one partition by the nodes in their names. */
    private static final class Files {
        private final StructLike partition;
        private final Map<DataTreeNode, List<DataFile>> base = new LinkedHashMap<>();
        private final Map<DataTreeNode, List<PrimaryKeyedFile>> changes = new LinkedHashMap<>();
        private final Map<DataTreeNode, Map<String, DeleteFile>> positions = new LinkedHashMap<>();

        private Files(StructLike partition) {
            this.partition = partition;
        }

        void add(FileScanTask task) {
            base.computeIfAbsent(node(task.file().path()), none -> new ArrayList<>()).add(task.file());
            task.deletes().forEach(each -> positions
                    .computeIfAbsent(node(each.path()), none -> new LinkedHashMap<>())
                    .put(each.path().toString(), each));
        }

        void add(DataFile change, long sequence) {
            PrimaryKeyedFile file = DefaultKeyedFile.parseChange(change, sequence);
            changes.computeIfAbsent(file.node(), none -> new ArrayList<>()).add(file);
        }

        void divide(DataTreeNode node, List<Subtree> tasks) {
            if (hasFiles(node::equals)) {
                tasks.add(subtree(node));
            } else if (hasFiles(each -> each.isSonOf(node))) {
                divide(node.left(), tasks);
                divide(node.right(), tasks);
            }
        }

        private boolean hasFiles(Predicate<DataTreeNode> which) {
            return base.keySet().stream().anyMatch(which)
                    || changes.keySet().stream().anyMatch(which)
                    || positions.keySet().stream().anyMatch(which);
        }

        private Subtree subtree(DataTreeNode node) {
            List<PrimaryKeyedFile> changed = below(node, changes);
            Map<String, DeleteFile> deleted = new LinkedHashMap<>();
            positions.forEach((each, files) -> {
                if (each.isSonOf(node)) {
                    deleted.putAll(files);
                }
            });
            return new Subtree(partition, node, below(node, base),
                    changed.stream().filter(file -> file.type() == DataFileType.INSERT_FILE).toList(),
                    changed.stream().filter(file -> file.type() == DataFileType.EQ_DELETE_FILE).toList(),
                    deleted.values());
        }

        private static <F> List<F> below(DataTreeNode node, Map<DataTreeNode, List<F>> files) {
            return files.entrySet().stream()
                    .filter(entry -> entry.getKey().isSonOf(node))
                    .flatMap(entry -> entry.getValue().stream())
                    .toList();
        }

        private static DataTreeNode node(CharSequence path) {
            return FileNameGenerator.parseFileNodeFromFileName(path.toString());
        }
    }
}
