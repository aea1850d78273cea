package dev.lithify.oracle.compact;

import dev.lithify.oracle.compact.DedicatedCompaction.Bucket;

import org.apache.paimon.compact.CompactDeletionFile;
import org.apache.paimon.compact.CompactResult;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.mergetree.Levels;
import org.apache.paimon.mergetree.MergeTreeWriter;
import org.apache.paimon.mergetree.compact.ForceUpLevel0Compaction;
import org.apache.paimon.mergetree.compact.MergeTreeCompactManager;
import org.apache.paimon.operation.AbstractFileStoreWrite;
import org.apache.paimon.operation.AbstractFileStoreWrite.WriterContainer;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableWriteImpl;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One single round of the real compaction manager of a bucket: triggered once, waited for, and not asked again,
 * unlike a writer, which asks a second time before it commits.
 */
final class ManagerRound {
    /** What the round decided and did; nothing was picked when there is no message. */
    record Outcome(Bucket bucket, Integer outputLevel, Boolean dropDelete, CommitMessageImpl message) {}

    private ManagerRound() {}

    static List<Outcome> run(FileStoreTable table, String user, List<Bucket> buckets, boolean full) throws Exception {
        List<Outcome> outcomes = new ArrayList<>();
        try (IOManager scratch = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = table.newWrite(user)) {
            write.withIOManager(scratch);
            for (Bucket bucket : buckets) {
                InlineExecutor executor = new InlineExecutor();
                write.withCompactExecutor(executor);
                outcomes.add(run((AbstractFileStoreWrite<?>) write.getWrite(), bucket, full, executor));
            }
        }
        return outcomes;
    }

    private static Outcome run(AbstractFileStoreWrite<?> write, Bucket bucket, boolean full, InlineExecutor executor)
            throws Exception {
        WriterContainer<?> container = write.createWriterContainer(bucket.partition(), bucket.bucket());
        MergeTreeWriter writer = mergeTree(container);
        try {
            MergeTreeCompactManager manager = (MergeTreeCompactManager) writer.compactManager();
            countAttempts(manager);
            manager.triggerCompaction(full);
            Optional<CompactResult> result = manager.getCompactionResult(true);
            if (result.isEmpty()) {
                return new Outcome(bucket, null, null, null);
            }
            Object task = executor.runs().get(0).task();
            return new Outcome(
                    bucket,
                    (Integer) Peek.field(task, "outputLevel"),
                    (Boolean) Peek.field(task, "dropDelete"),
                    message(bucket, container.totalBuckets, result.get()));
        } finally {
            writer.close();
        }
    }

    /**
     * A gentle strategy counts how often it was asked. A writer asks after each file that it writes to level 0, so
     * here it counts as asked before once for each of these files but the last, and never more often than that counts.
     */
    private static void countAttempts(MergeTreeCompactManager manager) {
        if (Peek.field(manager, "strategy") instanceof ForceUpLevel0Compaction strategy
                && strategy.maxCompactInterval() != null) {
            int files = ((Levels) Peek.field(manager, "levels")).level0().size();
            AtomicInteger count = (AtomicInteger) Peek.field(strategy, "compactTriggerCount");
            count.set(Math.min(files, strategy.maxCompactInterval()) - 1);
        }
    }

    private static MergeTreeWriter mergeTree(WriterContainer<?> container) {
        if (container.writer instanceof MergeTreeWriter writer) {
            return writer;
        }
        throw new UnsupportedOperationException(
                "Only primary key tables have a compaction manager, not " + container.writer.getClass());
    }

    private static CommitMessageImpl message(Bucket bucket, int totalBuckets, CompactResult result) {
        List<IndexFileMeta> newIndexFiles = new ArrayList<>();
        CompactDeletionFile deletionFile = result.deletionFile();
        if (deletionFile != null) {
            deletionFile.getOrCompute().ifPresent(newIndexFiles::add);
        }
        return new CommitMessageImpl(
                bucket.partition(),
                bucket.bucket(),
                totalBuckets,
                DataIncrement.emptyIncrement(),
                new CompactIncrement(
                        result.before(), result.after(), result.changelog(), newIndexFiles, new ArrayList<>()));
    }
}
