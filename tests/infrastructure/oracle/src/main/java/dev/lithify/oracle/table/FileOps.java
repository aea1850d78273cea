package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.Snapshot;
import org.apache.paimon.fs.Path;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFile;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.manifest.ManifestList;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.utils.SnapshotManager;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Ops that list what a table is made of: files, files_of_delta, files_of_changelog, snapshots, tags, branches. */
public final class FileOps {
    private final Tables tables;

    public FileOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("files", this::files);
        ops.put("files_of_delta", args -> entries(args, ManifestList::readDeltaManifests));
        ops.put("files_of_changelog", args -> entries(args, ManifestList::readChangelogManifests));
        ops.put("snapshots", this::snapshots);
        ops.put("tags", this::tags);
        ops.put("branches", args -> tables.table(args).branchManager().branches());
    }

    /** The live files of the named snapshot or the newest one; none when the table has no snapshot. */
    static List<ManifestEntry> live(FileStoreTable table, Args args) {
        SnapshotManager snapshots = table.snapshotManager();
        Snapshot snapshot = args.findNumber("snapshot_id")
                .map(snapshots::snapshot)
                .orElseGet(snapshots::latestSnapshotFromFileSystem);
        return snapshot == null
                ? List.of()
                : table.store().newScan().withSnapshot(snapshot).plan().files(FileKind.ADD);
    }

    private Object files(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        FileDescriber describer = new FileDescriber(table);
        return live(table, args).stream().map(describer::describe).toList();
    }

    private interface ManifestPart {
        List<ManifestFileMeta> of(ManifestList list, Snapshot snapshot);
    }

    private Object entries(Args args, ManifestPart part) throws Exception {
        FileStoreTable table = tables.table(args);
        FileDescriber describer = new FileDescriber(table);
        Snapshot snapshot = table.snapshot(args.number("snapshot_id"));
        ManifestFile manifests = table.store().manifestFileFactory().create();
        List<Object> entries = new ArrayList<>();
        for (ManifestFileMeta manifest : part.of(table.store().manifestListFactory().create(), snapshot)) {
            for (ManifestEntry entry : manifests.read(manifest.fileName(), manifest.fileSize())) {
                entries.add(Json.object("kind", entry.kind().name(), "file", describer.describe(entry)));
            }
        }
        return entries;
    }

    private Object snapshots(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        SnapshotManager snapshots = table.snapshotManager();
        List<Object> contents = new ArrayList<>();
        for (long id : snapshots.snapshotIdStream().sorted().toList()) {
            contents.add(content(table, snapshots.snapshotPath(id)));
        }
        return contents;
    }

    private Object tags(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        Map<String, Object> contents = new TreeMap<>();
        for (String name : table.tagManager().allTagNames()) {
            contents.put(name, content(table, table.tagManager().tagPath(name)));
        }
        return contents;
    }

    /** What stands in the file, also the fields that this version of Paimon does not know. */
    private static Object content(FileStoreTable table, Path path) throws IOException {
        return Json.parse(table.fileIO().readFileUtf8(path));
    }
}
