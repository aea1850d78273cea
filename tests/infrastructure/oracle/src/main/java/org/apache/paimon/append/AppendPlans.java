package org.apache.paimon.append;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DeletionFile;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;

/**
 * What Paimon's planners of append tables make of files that exist only as metadata. It lives in Paimon's package
 * because their methods are package-private there.
 */
public final class AppendPlans {
    private AppendPlans() {}

    /**
     * The tasks of several plans in a row of one coordinator, which sees the files before the first.
     *
     * @param vectors the deletion vectors of some of the files, by their names; only for tables that have them
     */
    public static List<List<List<DataFileMeta>>> coordinated(
            FileStoreTable table, List<DataFileMeta> files, Map<String, DeletionFile> vectors, int plans) {
        AppendCompactCoordinator coordinator = new AppendCompactCoordinator(table, false);
        vectors.forEach((name, vector) ->
                coordinator.dvMaintainer(BinaryRow.EMPTY_ROW).putDeletionFile(name, vector));
        coordinator.notifyNewFiles(BinaryRow.EMPTY_ROW, files);
        List<List<List<DataFileMeta>>> planned = new ArrayList<>();
        for (int number = 0; number < plans; number++) {
            planned.add(coordinator.compactPlan().stream()
                    .map(AppendCompactTask::compactBefore)
                    .toList());
        }
        return planned;
    }

    /** The runs that one manager of a bucket picks one after the other, without their outputs. */
    public static List<List<DataFileMeta>> picks(
            List<DataFileMeta> files, int minFileNum, long targetFileSize, long compactionFileSize) {
        BucketedAppendCompactManager manager = new BucketedAppendCompactManager(
                null, files, null, minFileNum, targetFileSize, compactionFileSize, false, null, null);
        List<List<DataFileMeta>> picked = new ArrayList<>();
        Optional<List<DataFileMeta>> next = manager.pickCompactBefore();
        while (next.isPresent()) {
            picked.add(next.get());
            next = manager.pickCompactBefore();
        }
        return picked;
    }

    /** The files that a full compaction of a bucket rewrites, in their order. */
    public static List<DataFileMeta> full(
            ExecutorService executor,
            List<DataFileMeta> files,
            int minFileNum,
            long targetFileSize,
            long compactionFileSize,
            boolean forceRewrite)
            throws Exception {
        List<DataFileMeta> rewritten = new ArrayList<>();
        BucketedAppendCompactManager manager = new BucketedAppendCompactManager(
                executor,
                files,
                null,
                minFileNum,
                targetFileSize,
                compactionFileSize,
                forceRewrite,
                before -> {
                    rewritten.addAll(before);
                    return List.of();
                },
                null);
        manager.triggerCompaction(true);
        manager.getCompactionResult(true);
        return rewritten;
    }
}
