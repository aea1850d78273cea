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
import java.util.Iterator;
import java.util.List;

/** Finds a data file by its name: in the manifests of any snapshot, else, not yet committed, in its folder. */
final class DataFileFinder {
    private final FileStoreTable table;

    DataFileFinder(FileStoreTable table) {
        this.table = table;
    }

    DataFileMeta find(BinaryRow partition, int bucket, String name) throws IOException {
        ManifestList lists = table.store().manifestListFactory().create();
        ManifestFile manifests = table.store().manifestFileFactory().create();
        Iterator<Snapshot> snapshots = table.snapshotManager().snapshots();
        while (snapshots.hasNext()) {
            for (ManifestFileMeta manifest : manifestsOf(lists, snapshots.next())) {
                for (ManifestEntry entry : manifests.read(manifest.fileName(), manifest.fileSize())) {
                    if (entry.fileName().equals(name)) {
                        return entry.file();
                    }
                }
            }
        }
        return inFolder(partition, bucket, name);
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
