package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.Snapshot;
import org.apache.paimon.deletionvectors.DeletionVectorsIndexFile;
import org.apache.paimon.index.HashIndexFile;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.utils.SnapshotManager;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The index files of a snapshot: deletion vectors with the ranges they stand in, and the hashes of dynamic buckets. */
public final class IndexOp implements Op {
    private final Tables tables;

    public IndexOp(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        SnapshotManager snapshots = table.snapshotManager();
        Snapshot snapshot = args.findNumber("snapshot_id")
                .map(snapshots::snapshot)
                .orElseGet(snapshots::latestSnapshotFromFileSystem);
        if (snapshot == null || snapshot.indexManifest() == null) {
            return List.of();
        }
        IndexFileHandler handler = table.store().newIndexFileHandler();
        FileDescriber describer = new FileDescriber(table);
        return handler.readManifest(snapshot.indexManifest()).stream()
                .map(entry -> describe(handler, describer, entry))
                .toList();
    }

    private static Object describe(IndexFileHandler handler, FileDescriber describer, IndexManifestEntry entry) {
        IndexFileMeta file = entry.indexFile();
        return Json.object(
                "partition", describer.partition(entry.partition()),
                "bucket", entry.bucket(),
                "type", file.indexType(),
                "name", file.fileName(),
                "path", handler.filePath(entry).toString(),
                "size", file.fileSize(),
                "rows", file.rowCount(),
                "deletionVectors", deletionVectors(handler, entry),
                "hashes", hashes(handler, entry));
    }

    /** Per data file where its vector stands in the index file and how many rows it deletes. */
    private static Map<String, Object> deletionVectors(IndexFileHandler handler, IndexManifestEntry entry) {
        Map<String, Object> vectors = new LinkedHashMap<>();
        if (entry.indexFile().indexType().equals(DeletionVectorsIndexFile.DELETION_VECTORS_INDEX)) {
            entry.indexFile().dvRanges().forEach((name, range) -> vectors.put(name, Json.object(
                    "offset", range.offset(), "length", range.length(), "cardinality", range.cardinality())));
        }
        return vectors;
    }

    private static List<Integer> hashes(IndexFileHandler handler, IndexManifestEntry entry) {
        if (!entry.indexFile().indexType().equals(HashIndexFile.HASH_INDEX)) {
            return List.of();
        }
        try {
            return handler.hashIndex(entry.partition(), entry.bucket()).readList(entry.indexFile());
        } catch (IOException e) {
            throw new IllegalStateException("Cannot read " + entry.indexFile().fileName(), e);
        }
    }
}
