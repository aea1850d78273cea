package dev.lithify.oracle.table;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.index.SimpleHashBucketAssigner;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.DynamicBucketRowKeyExtractor;
import org.apache.paimon.table.sink.TableWriteImpl;

import java.util.List;
import java.util.OptionalInt;

/**
 * One Paimon writer with what it needs around it: a scratch directory, and for tables with dynamic buckets
 * Paimon's own bucket assigner (which the caller may overrule row by row).
 */
final class WriteSession implements AutoCloseable {
    private final IOManager scratch = IOManager.create(System.getProperty("java.io.tmpdir"));
    private final BucketMode mode;
    private final TableWriteImpl<?> write;
    private final DynamicBucketRowKeyExtractor keys;
    private final BucketAssigner assigner;

    WriteSession(FileStoreTable table, String user, boolean overwrite) {
        this.mode = table.bucketMode();
        this.write = table.newWrite(user);
        write.withIOManager(scratch);
        write.withIgnorePreviousFiles(overwrite);
        boolean dynamic = mode == BucketMode.HASH_DYNAMIC;
        this.keys = dynamic ? new DynamicBucketRowKeyExtractor(table.schema()) : null;
        this.assigner = dynamic ? assigner(table, user, overwrite) : null;
    }

    private static BucketAssigner assigner(FileStoreTable table, String user, boolean overwrite) {
        CoreOptions options = table.coreOptions();
        long rowsPerBucket = options.dynamicBucketTargetRowNum();
        int maxBuckets = options.dynamicBucketMaxBuckets();
        return overwrite
                ? new SimpleHashBucketAssigner(1, 0, rowsPerBucket, maxBuckets)
                : new HashBucketAssigner(
                        table.snapshotManager(),
                        user,
                        table.store().newIndexFileHandler(),
                        1,
                        1,
                        0,
                        rowsPerBucket,
                        maxBuckets);
    }

    void write(InternalRow row, OptionalInt bucket) throws Exception {
        switch (mode) {
            case HASH_DYNAMIC -> write.write(row, bucket.isPresent() ? bucket.getAsInt() : assign(row));
            case KEY_DYNAMIC -> write.write(row, bucket.orElseThrow(() -> new IllegalArgumentException(
                    "A table whose key does not contain its partition needs the bucket of each row")));
            default -> {
                if (bucket.isPresent()) {
                    throw new IllegalArgumentException("Only tables with dynamic buckets take a bucket, this is "
                            + mode);
                }
                write.write(row);
            }
        }
    }

    private int assign(InternalRow row) {
        keys.setRecord(row);
        return assigner.assign(keys.partition(), keys.trimmedPrimaryKey().hashCode());
    }

    List<CommitMessage> finish(long identifier) throws Exception {
        return write.prepareCommit(true, identifier);
    }

    @Override
    public void close() throws Exception {
        try (scratch) {
            write.close();
        }
    }
}
