package dev.lithify.oracle.compact;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.table.Selection;
import dev.lithify.oracle.values.RowText;

import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.EndOfScanException;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * What one batch job of Java's dedicated compaction does before its commit, in this process: every bucket through
 * a writer, or, in tables without buckets, the tasks of the append coordinator.
 */
final class DedicatedCompaction {
    /** The messages to commit and the compaction tasks that made them. */
    record Outcome(List<CommitMessage> messages, List<InlineExecutor.Run> runs) {}

    /** A bucket that has files. */
    record Bucket(BinaryRow partition, int bucket) {}

    private final FileStoreTable table;
    private final String user;
    private final Selection selection;
    private final boolean full;
    private final InlineExecutor executor = new InlineExecutor();

    private DedicatedCompaction(FileStoreTable table, String user, Selection selection, boolean full) {
        this.table = table;
        this.user = user;
        this.selection = selection;
        this.full = full;
    }

    static DedicatedCompaction of(FileStoreTable table, String user, Args args) {
        Selection selection = new Selection(table.schema().logicalPartitionType(), args);
        return new DedicatedCompaction(table, user, selection, args.flag("full", true));
    }

    Outcome run() throws Exception {
        List<CommitMessage> messages =
                switch (table.bucketMode()) {
                    case HASH_FIXED, HASH_DYNAMIC, KEY_DYNAMIC -> compactBuckets();
                    case BUCKET_UNAWARE -> compactAppend();
                    case POSTPONE_MODE -> throw new UnsupportedOperationException(
                            "Tables with " + BucketMode.POSTPONE_MODE + " are compacted by Spark or Flink only");
                };
        messages.removeIf(message -> ((CommitMessageImpl) message).isEmpty());
        RowText partitions = new RowText(table.schema().logicalPartitionType());
        messages.sort(Comparator.comparing((CommitMessage message) -> partitions.text(message.partition()))
                .thenComparing(CommitMessage::bucket));
        return new Outcome(messages, executor.runs());
    }

    /** The selected buckets in a fixed order: by the text of the partition, then the number of the bucket. */
    static List<Bucket> buckets(FileStoreTable table, Selection selection) {
        RowText partitions = new RowText(table.schema().logicalPartitionType());
        return table.newSnapshotReader().bucketEntries().stream()
                .filter(entry -> selection.accepts(entry.partition(), entry.bucket()))
                .map(entry -> new Bucket(entry.partition(), entry.bucket()))
                .sorted(Comparator.comparing((Bucket bucket) -> partitions.text(bucket.partition()))
                        .thenComparing(Bucket::bucket))
                .toList();
    }

    private List<CommitMessage> compactBuckets() throws Exception {
        try (IOManager scratch = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = table.newWrite(user)) {
            write.withIOManager(scratch);
            write.withCompactExecutor(executor);
            for (Bucket bucket : buckets(table, selection)) {
                write.compact(bucket.partition(), bucket.bucket(), full);
            }
            return new ArrayList<>(write.prepareCommit());
        }
    }

    private List<CommitMessage> compactAppend() throws Exception {
        if (table.coreOptions().clusteringIncrementalEnabled()) {
            return IncrementalClustering.run(table, user, selection, full, executor);
        }
        List<CommitMessage> messages = new ArrayList<>();
        BaseAppendFileStoreWrite write = (BaseAppendFileStoreWrite) table.store().newWrite(user);
        try {
            for (AppendCompactTask task : appendTasks()) {
                Callable<CommitMessage> compaction = () -> task.doCompact(table, write);
                messages.add(executor.submit(compaction).get());
            }
        } finally {
            write.close();
        }
        return messages;
    }

    private List<AppendCompactTask> appendTasks() {
        try {
            return new AppendCompactCoordinator(table, false)
                    .run().stream().filter(task -> selection.accepts(task.partition())).toList();
        } catch (EndOfScanException nothingToScan) {
            return List.of();
        }
    }
}
