package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.Snapshot;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFile;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.manifest.ManifestList;
import org.apache.paimon.operation.ManifestFileMerger;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Ops about the manifests themselves: manifests, merge_manifests. */
public final class ManifestOps {
    private final Tables tables;

    public ManifestOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("manifests", this::manifests);
        ops.put("merge_manifests", this::mergeManifests);
    }

    private Object manifests(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        Snapshot snapshot = args.findNumber("snapshot_id")
                .map(table::snapshot)
                .orElseGet(() -> table.snapshotManager().latestSnapshotFromFileSystem());
        ManifestList lists = table.store().manifestListFactory().create();
        return Json.object(
                "base", describe(table, lists.read(snapshot.baseManifestList(), snapshot.baseManifestListSize())),
                "delta", describe(table, lists.readDeltaManifests(snapshot)));
    }

    /** What Java's commit would make of each manifest list; the new manifests stay in the table's folder. */
    private Object mergeManifests(Args args) throws Exception {
        List<Object> results = new ArrayList<>();
        for (Args single : args.objects("cases")) {
            results.add(merge(tables.table(args), single));
        }
        return results;
    }

    private static Object merge(FileStoreTable origin, Args single) {
        long target = single.number("target_size");
        FileStoreTable table = origin.copy(Map.of("manifest.target-file-size", target + " b"));
        ManifestFile files = table.store().manifestFileFactory().create();
        List<ManifestFileMeta> before =
                table.store().manifestListFactory().create().read(single.text("list"));
        List<ManifestFileMeta> after = ManifestFileMerger.merge(
                before,
                files,
                target,
                single.integer("merge_min_count"),
                single.number("full_threshold"),
                table.schema().logicalPartitionType(),
                null);
        List<Object> described = new ArrayList<>();
        for (ManifestFileMeta manifest : after) {
            boolean isOld = before.contains(manifest);
            described.add(Json.object(
                    "manifest", describe(table, manifest),
                    "entries", isOld ? null : entries(table, files.read(manifest.fileName()))));
        }
        return described;
    }

    private static List<Object> entries(FileStoreTable table, List<ManifestEntry> entries) {
        FileDescriber describer = new FileDescriber(table);
        List<Object> described = new ArrayList<>();
        for (ManifestEntry entry : entries) {
            described.add(List.of(
                    entry.kind().name(),
                    describer.partition(entry.partition()),
                    entry.bucket(),
                    entry.level(),
                    entry.fileName()));
        }
        return described;
    }

    private static List<Object> describe(FileStoreTable table, List<ManifestFileMeta> manifests) {
        List<Object> described = new ArrayList<>();
        manifests.forEach(manifest -> described.add(describe(table, manifest)));
        return described;
    }

    private static Map<String, Object> describe(FileStoreTable table, ManifestFileMeta manifest) {
        RowType partition = table.schema().logicalPartitionType();
        SimpleStats stats = manifest.partitionStats();
        return Json.object(
                "name", manifest.fileName(),
                "size", manifest.fileSize(),
                "added", manifest.numAddedFiles(),
                "deleted", manifest.numDeletedFiles(),
                "partitions", FileDescriber.stats(stats, partition.getFieldTypes()),
                "schema_id", manifest.schemaId(),
                "min_bucket", manifest.minBucket(),
                "max_bucket", manifest.maxBucket(),
                "min_level", manifest.minLevel(),
                "max_level", manifest.maxLevel(),
                "min_row_id", manifest.minRowId(),
                "max_row_id", manifest.maxRowId());
    }
}
