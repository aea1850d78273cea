package dev.lithify.oracle.table;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.fs.Path;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFile;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.manifest.ManifestList;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds data files by their names: in the manifests of any snapshot, the newest first, else, not yet committed, in
 * their folder. A manifest is read once.
 */
final class DataFileFinder {
    private final FileStoreTable table;
    private final ManifestList lists;
    private final ManifestFile manifests;
    private final Iterator<Snapshot> snapshots;
    private final Set<String> read = new HashSet<>();
    private final Map<String, DataFileMeta> found = new HashMap<>();

    DataFileFinder(FileStoreTable table) throws IOException {
        this.table = table;
        this.lists = table.store().manifestListFactory().create();
        this.manifests = table.store().manifestFileFactory().create();
        List<Snapshot> newestFirst = new ArrayList<>();
        table.snapshotManager().snapshots().forEachRemaining(newestFirst::add);
        newestFirst.sort(Comparator.comparingLong(Snapshot::id).reversed());
        this.snapshots = newestFirst.iterator();
    }

    DataFileMeta find(BinaryRow partition, int bucket, String name) throws IOException {
        while (!found.containsKey(name) && snapshots.hasNext()) {
            for (ManifestFileMeta manifest : manifestsOf(lists, snapshots.next())) {
                if (read.add(manifest.fileName())) {
                    for (ManifestEntry entry : manifests.read(manifest.fileName(), manifest.fileSize())) {
                        found.put(entry.fileName(), entry.file());
                    }
                }
            }
        }
        DataFileMeta file = found.get(name);
        return file == null ? inFolder(partition, bucket, name) : file;
    }

    private static List<ManifestFileMeta> manifestsOf(ManifestList lists, Snapshot snapshot) {
        List<ManifestFileMeta> manifests = new ArrayList<>(lists.readDataManifests(snapshot));
        manifests.addAll(lists.readChangelogManifests(snapshot));
        return manifests;
    }

    /** A reader needs only the name, the size and the schema, which is taken to be the newest. */
    private DataFileMeta inFolder(BinaryRow partition, int bucket, String name) throws IOException {
        Path path = new Path(table.store().pathFactory().bucketPath(partition, bucket), name);
        if (!table.fileIO().exists(path)) {
            throw new FileNotFoundException(name + " is in no manifest, and there is no file " + path);
        }
        return DataFileMeta.create(
                name,
                table.fileIO().getFileSize(path),
                0,
                DataFileMeta.EMPTY_MIN_KEY,
                DataFileMeta.EMPTY_MAX_KEY,
                SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS,
                0,
                0,
                table.schema().id(),
                0,
                List.of(),
                Timestamp.fromEpochMillis(0),
                null,
                null,
                FileSource.COMPACT,
                null,
                null,
                null,
                null);
    }
}
