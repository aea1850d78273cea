package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.DeletionVectorMeta;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Ops that delete rows of tables without a primary key as Spark's DELETE does, by deletion vectors: delete, and
 * prepare_delete for a commit that comes later.
 */
public final class DeleteOps {
    /** A partition, or a bucket of it, with one maintainer of vectors. */
    private record Bucket(BinaryRow partition, int bucket) {}

    private final Tables tables;
    private final Commits commits;

    public DeleteOps(Tables tables, Commits commits) {
        this.tables = tables;
        this.commits = commits;
    }

    public void register(Map<String, Op> ops) {
        ops.put("delete", args -> Json.object("snapshots", Commits.commit(delete(args))));
        ops.put("prepare_delete", args -> Json.object("token", commits.hold(delete(args))));
    }

    private Commits.Pending delete(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        Predicate predicate = new FilterParser(table.rowType()).parse(args.object("filter"));
        Selection selection = new Selection(table.schema().logicalPartitionType(), args);
        Snapshot snapshot = table.snapshotManager().latestSnapshotFromFileSystem();
        Map<Bucket, BaseAppendDeleteFileMaintainer> maintainers = new LinkedHashMap<>();
        for (DataSplit split : table.newSnapshotReader().read().dataSplits()) {
            if (!selection.accepts(split.partition(), split.bucket())) {
                continue;
            }
            for (DataFileMeta file : split.dataFiles()) {
                DeletionVector vector = matching(table, split, file, predicate);
                if (!vector.isEmpty()) {
                    Bucket bucket = new Bucket(split.partition(), split.bucket());
                    maintainers
                            .computeIfAbsent(bucket, each -> maintainer(table, snapshot, each))
                            .notifyNewDeletionVector(file.fileName(), vector);
                }
            }
        }
        boolean counted = args.flag("counted", true);
        List<CommitMessage> messages = new ArrayList<>();
        for (BaseAppendDeleteFileMaintainer maintainer : maintainers.values()) {
            messages.add(message(maintainer, counted));
        }
        return new Commits.Pending(table, Commits.user(args), Commits.content(args, messages), null);
    }

    /** The positions of rows that match, those that are deleted already among them. */
    private static DeletionVector matching(
            FileStoreTable table, DataSplit split, DataFileMeta file, Predicate predicate) throws Exception {
        DataSplit single = DataSplit.builder()
                .withSnapshot(split.snapshotId())
                .withPartition(split.partition())
                .withBucket(split.bucket())
                .withBucketPath(split.bucketPath())
                .withTotalBuckets(split.totalBuckets())
                .withDataFiles(List.of(file))
                .rawConvertible(true)
                .build();
        DeletionVector vector =
                table.coreOptions().deletionVectorBitmap64() ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
        long[] position = {0};
        try (RecordReader<InternalRow> reader = table.newRead().createReader(single)) {
            reader.forEachRemaining(row -> {
                if (predicate.test(row)) {
                    vector.delete(position[0]);
                }
                position[0]++;
            });
        }
        return vector;
    }

    private static BaseAppendDeleteFileMaintainer maintainer(
            FileStoreTable table, Snapshot snapshot, Bucket bucket) {
        IndexFileHandler handler = table.store().newIndexFileHandler();
        return table.bucketMode() == BucketMode.BUCKET_UNAWARE
                ? BaseAppendDeleteFileMaintainer.forUnawareAppend(handler, snapshot, bucket.partition())
                : BaseAppendDeleteFileMaintainer.forBucketedAppend(
                        handler, snapshot, bucket.partition(), bucket.bucket());
    }

    private static CommitMessage message(BaseAppendDeleteFileMaintainer maintainer, boolean counted) {
        List<IndexFileMeta> added = new ArrayList<>();
        List<IndexFileMeta> deleted = new ArrayList<>();
        for (IndexManifestEntry entry : maintainer.persist()) {
            if (entry.kind() == FileKind.ADD) {
                added.add(counted ? entry.indexFile() : uncounted(entry.indexFile()));
            } else {
                deleted.add(entry.indexFile());
            }
        }
        return new CommitMessageImpl(
                maintainer.getPartition(),
                maintainer.getBucket(),
                null,
                new DataIncrement(List.of(), List.of(), List.of(), added, deleted),
                CompactIncrement.emptyIncrement());
    }

    /** As writers of old releases left it, which did not count the rows. */
    private static IndexFileMeta uncounted(IndexFileMeta file) {
        LinkedHashMap<String, DeletionVectorMeta> ranges = new LinkedHashMap<>();
        file.dvRanges().forEach((name, range) ->
                ranges.put(name, new DeletionVectorMeta(name, range.offset(), range.length(), null)));
        return new IndexFileMeta(
                file.indexType(), file.fileName(), file.fileSize(), file.rowCount(), ranges, file.externalPath());
    }
}
