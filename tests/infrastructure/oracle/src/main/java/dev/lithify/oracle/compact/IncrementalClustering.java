package dev.lithify.oracle.compact;

import dev.lithify.oracle.table.Selection;

import org.apache.paimon.append.cluster.IncrementalClusterManager;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.partition.PartitionPredicate;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * What Spark's compact procedure does with a clustered table without buckets. Spark sorts the rows of each unit;
 * here Paimon's own sorter does, which it uses for clustered tables with buckets.
 */
final class IncrementalClustering {
    private static final int ONLY_BUCKET = 0;

    private IncrementalClustering() {}

    static List<CommitMessage> run(
            FileStoreTable table, String user, Selection selection, boolean full, InlineExecutor executor)
            throws Exception {
        Map<BinaryRow, CompactUnit> units =
                new IncrementalClusterManager(table, predicate(table, selection)).createCompactUnits(full);
        List<CommitMessage> messages = new ArrayList<>();
        BaseAppendFileStoreWrite write = (BaseAppendFileStoreWrite) table.store().newWrite(user);
        try (IOManager scratch = IOManager.create(System.getProperty("java.io.tmpdir"))) {
            write.withIOManager(scratch);
            for (Map.Entry<BinaryRow, CompactUnit> entry : units.entrySet()) {
                CompactUnit unit = entry.getValue();
                Callable<List<DataFileMeta>> sorting =
                        () -> write.clusterRewrite(entry.getKey(), ONLY_BUCKET, unit.files());
                List<DataFileMeta> sorted = executor.submit(sorting).get();
                messages.add(new CommitMessageImpl(
                        entry.getKey(),
                        ONLY_BUCKET,
                        table.coreOptions().bucket(),
                        DataIncrement.emptyIncrement(),
                        new CompactIncrement(
                                unit.files(),
                                IncrementalClusterManager.upgrade(sorted, unit.outputLevel()),
                                List.of())));
            }
        } finally {
            write.close();
        }
        return messages;
    }

    /** The partitions that a request names; history partitions are only looked for beside those. */
    private static PartitionPredicate predicate(FileStoreTable table, Selection selection) {
        if (!selection.namesPartitions()) {
            return null;
        }
        List<BinaryRow> named = table.newSnapshotReader().partitions().stream()
                .filter(selection::accepts)
                .toList();
        return PartitionPredicate.fromMultiple(table.schema().logicalPartitionType(), named);
    }
}
