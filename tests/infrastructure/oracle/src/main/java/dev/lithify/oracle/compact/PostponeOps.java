package dev.lithify.oracle.compact;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.table.Commits;
import dev.lithify.oracle.table.Tables;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.postpone.BucketFiles;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.FixedBucketRowKeyExtractor;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Ops for postponed buckets: buckets_of asks Paimon for the bucket of rows, move_postponed does what Flink's
 * compaction job of such a table does, with one reader and one writer per partition.
 */
public final class PostponeOps {
    private final Tables tables;

    public PostponeOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("buckets_of", this::bucketsOf);
        ops.put("move_postponed", this::move);
    }

    private Object bucketsOf(Args args) throws Exception {
        FileStoreTable table = withBuckets(tables.table(args), args.integer("buckets"));
        FixedBucketRowKeyExtractor keys = new FixedBucketRowKeyExtractor(table.schema());
        List<Integer> buckets = new ArrayList<>();
        for (JsonNode row : args.nodes("rows")) {
            keys.setRecord(ValueParser.rowWithKind(row, table.rowType()));
            buckets.add(keys.bucket());
        }
        return buckets;
    }

    private Object move(Args args) throws Exception {
        FileStoreTable given = tables.table(args);
        boolean compacts = !args.textMap("options").containsKey("write-only");
        FileStoreTable table = compacts ? given.copy(Map.of("write-only", "false")) : given;
        int first = table.coreOptions().postponeDefaultBucketNum();
        FileStoreTable scanned = withBuckets(table, first);
        String user = Commits.user(args);
        List<CommitMessage> messages = new ArrayList<>();
        for (BinaryRow partition :
                scanned.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).partitions()) {
            moveOne(table, partition, first, user, messages);
        }
        try (var commit = scanned.newCommit(user)) {
            commit.commit(Long.MAX_VALUE, messages);
        }
        return Json.object("messages", messages.size());
    }

    private static void moveOne(
            FileStoreTable table, BinaryRow partition, int first, String user, List<CommitMessage> messages)
            throws Exception {
        FileStoreTable real = withBuckets(table, numberOfBuckets(table, partition, first));
        try (IOManager scratch = IOManager.create(System.getProperty("java.io.tmpdir"));
                TableWriteImpl<?> write = real.newWrite(user)) {
            write.withIOManager(scratch);
            List<Split> splits = real.newSnapshotReader()
                    .withPartitionFilter(List.of(partition))
                    .withBucket(BucketMode.POSTPONE_BUCKET)
                    .read()
                    .splits();
            for (Split each : splits) {
                DataSplit split = (DataSplit) each;
                List<DataFileMeta> files = new ArrayList<>(split.dataFiles());
                files.sort(Comparator.comparing(DataFileMeta::creationTime));
                for (DataFileMeta file : files) {
                    copy(real, write, split, file);
                    messages.add(new CommitMessageImpl(
                            split.partition(),
                            split.bucket(),
                            split.totalBuckets(),
                            DataIncrement.emptyIncrement(),
                            new CompactIncrement(List.of(file), List.of(), List.of())));
                }
            }
            messages.addAll(asCompaction(real, write.prepareCommit(true, Long.MAX_VALUE)));
        }
    }

    private static void copy(FileStoreTable real, TableWriteImpl<?> write, DataSplit split, DataFileMeta file)
            throws Exception {
        DataSplit alone = DataSplit.builder()
                .withPartition(split.partition())
                .withBucket(split.bucket())
                .withBucketPath(split.bucketPath())
                .withTotalBuckets(split.totalBuckets())
                .withDataFiles(List.of(file))
                .isStreaming(false)
                .build();
        try (RecordReader<InternalRow> reader = real.newRead().createReader(alone)) {
            reader.forEachRemaining(row -> write(write, row));
        }
    }

    private static void write(TableWriteImpl<?> write, InternalRow row) {
        try {
            write.write(row);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    /** New files become results of the compaction, as RewritePostponeBucketCommittableOperator makes them. */
    private static List<CommitMessage> asCompaction(FileStoreTable real, List<CommitMessage> written) {
        Map<Integer, BucketFiles> buckets = new HashMap<>();
        List<CommitMessage> result = new ArrayList<>();
        for (CommitMessage message : written) {
            buckets.computeIfAbsent(
                            message.bucket(),
                            bucket -> new BucketFiles(
                                    real.store().pathFactory().createDataFilePathFactory(message.partition(), bucket),
                                    real.fileIO()))
                    .update((CommitMessageImpl) message);
        }
        buckets.forEach((bucket, files) -> result.add(files.makeMessage(written.get(0).partition(), bucket)));
        return result;
    }

    private static int numberOfBuckets(FileStoreTable table, BinaryRow partition, int first) {
        Iterator<ManifestEntry> entries = table.newSnapshotReader()
                .withPartitionFilter(List.of(partition))
                .onlyReadRealBuckets()
                .readFileIterator();
        return entries.hasNext() ? entries.next().totalBuckets() : first;
    }

    private static FileStoreTable withBuckets(FileStoreTable table, int buckets) {
        Map<String, String> options = new HashMap<>(table.options());
        options.put(CoreOptions.BUCKET.key(), String.valueOf(buckets));
        return table.copy(table.schema().copy(options));
    }
}
