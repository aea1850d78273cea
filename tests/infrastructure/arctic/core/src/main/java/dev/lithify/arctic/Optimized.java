package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Json;

import com.netease.arctic.op.OverwriteBaseFiles;
import com.netease.arctic.op.UpdatePartitionProperties;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.table.TableProperties;
import com.netease.arctic.trace.SnapshotSummary;
import com.netease.arctic.utils.TablePropertyUtil;

import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Expressions;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The outcome of an optimizer's run, and its commits in the order in which Arctic's service makes them. */
final class Optimized {
    private static final Logger LOG = LoggerFactory.getLogger(Optimized.class);
    private static final String PRODUCER = "OPTIMIZE";

    final Map<String, DataFile> added = new LinkedHashMap<>();
    final Map<String, DataFile> removed = new LinkedHashMap<>();
    final Map<String, DeleteFile> addedDeletes = new LinkedHashMap<>();
    final Map<String, DeleteFile> removedDeletes = new LinkedHashMap<>();
    private final Map<String, StructLike> partitions = new LinkedHashMap<>();
    private final KeyedTable table;
    private final long line;
    private final long planned;
    private int tasks = 0;

    Optimized(KeyedTable table, long line) {
        this.table = table;
        this.planned = Optional.ofNullable(table.baseTable().currentSnapshot())
                .map(Snapshot::snapshotId)
                .orElse(-1L);
        this.line = line;
    }

    static <F extends ContentFile<?>> void put(Map<String, F> files, Collection<? extends F> more) {
        more.forEach(file -> files.put(file.path().toString(), file));
    }

    /** Counts a task; its partition's line moves if it had changes. */
    void done(Subtree task) {
        tasks++;
        if (task.hasChanges()) {
            partitions.put(table.spec().partitionToPath(task.partition()), task.partition());
        }
    }

    /** One transaction with the files and the line, then one without the replaced position deletes. */
    void commit() {
        if (added.isEmpty() && removed.isEmpty() && addedDeletes.isEmpty()) {
            commitLine();
        } else if (partitions.isEmpty()) {
            commitBaseAlone();
        } else {
            commitFiles();
        }
        if (!removedDeletes.isEmpty()) {
            dropDeletes();
        }
    }

    private void commitFiles() {
        OverwriteBaseFiles overwrite = table.newOverwriteBaseFiles();
        overwrite.set(SnapshotSummary.SNAPSHOT_PRODUCER, PRODUCER);
        overwrite.validateNoConflictingAppends(Expressions.alwaysFalse());
        added.values().forEach(overwrite::addFile);
        removed.values().forEach(overwrite::deleteFile);
        addedDeletes.values().forEach(overwrite::addFile);
        moving().forEach(partition -> overwrite.updateOptimizedSequence(partition, line));
        overwrite.commit();
    }

    /** Without change files no line moves: what Arctic calls major or full. */
    private void commitBaseAlone() {
        RewriteFiles rewrite = table.baseTable().newRewrite().validateFromSnapshot(planned);
        rewrite.set(SnapshotSummary.SNAPSHOT_PRODUCER, PRODUCER);
        rewrite.rewriteFiles(
                Set.copyOf(removed.values()), Set.of(), Set.copyOf(added.values()), Set.of());
        rewrite.commit();
    }

    /** Iceberg has dropped those already that are older than all data; Arctic's service ignores that, too. */
    private void dropDeletes() {
        RewriteFiles drop = table.baseTable().newRewrite();
        drop.set(SnapshotSummary.SNAPSHOT_PRODUCER, PRODUCER);
        drop.rewriteFiles(Set.of(), Set.copyOf(removedDeletes.values()), Set.of(), Set.of());
        try {
            drop.commit();
        } catch (ValidationException e) {
            LOG.debug("Position deletes stay or are gone", e);
        }
    }

    private void commitLine() {
        UpdatePartitionProperties update = table.baseTable().updatePartitionProperties(null);
        moving().forEach(partition -> update.set(
                partition, TableProperties.PARTITION_OPTIMIZED_SEQUENCE, String.valueOf(line)));
        if (!partitions.isEmpty()) {
            update.commit();
        }
    }

    private Collection<StructLike> moving() {
        return table.spec().isUnpartitioned() && !partitions.isEmpty()
                ? List.of(TablePropertyUtil.EMPTY_STRUCT)
                : partitions.values();
    }

    Object json() {
        Map<String, Long> moved = new LinkedHashMap<>();
        partitions.keySet().forEach(path -> moved.put(path, line));
        return Json.object(
                "tasks", tasks,
                "added", described(added.values()),
                "removed", described(removed.values()),
                "added_deletes", described(addedDeletes.values()),
                "removed_deletes", described(removedDeletes.values()),
                "line", moved);
    }

    private List<Object> described(Collection<? extends ContentFile<?>> files) {
        FileJson json = new FileJson(table.spec());
        List<Object> described = new ArrayList<>();
        files.forEach(file -> described.add(json.base(file, null)));
        return described;
    }
}
