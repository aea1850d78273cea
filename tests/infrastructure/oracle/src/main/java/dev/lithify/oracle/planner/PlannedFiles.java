package dev.lithify.oracle.planner;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.Levels;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.stats.SimpleStats;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Data files that exist only as metadata, with one INT as their key, and back to the names of the files. */
final class PlannedFiles {
    static final Comparator<InternalRow> KEYS = Comparator.comparingInt(row -> row.getInt(0));

    private PlannedFiles() {}

    /** Of the fields only the name is required; a delete count that is absent is unknown. */
    static DataFileMeta file(Args file, int defaultLevel) {
        int minKey = file.integer("minKey", 0);
        long maxSequence = file.number("maxSequence", 0);
        return DataFileMeta.create(
                file.text("name"),
                file.number("size", 0),
                file.number("rows", 1),
                BinaryRow.singleColumn(minKey),
                BinaryRow.singleColumn(file.integer("maxKey", minKey)),
                SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS,
                file.number("minSequence", maxSequence),
                maxSequence,
                0,
                file.integer("level", defaultLevel),
                List.of(),
                Timestamp.fromEpochMillis(file.number("creationTime", 0)),
                file.findNumber("deleteRows").orElse(null),
                null,
                FileSource.APPEND,
                null,
                null,
                null,
                null);
    }

    static List<DataFileMeta> files(Args owner) {
        List<DataFileMeta> files = new ArrayList<>();
        owner.objects("files").forEach(file -> files.add(file(file, 0)));
        return files;
    }

    static Levels levels(Args owner) {
        return new Levels(KEYS, files(owner), owner.integer("num_levels", 6));
    }

    /** Runs as they are given, without the checks and the order that {@link Levels} would bring. */
    static List<LevelSortedRun> runs(Args owner) {
        List<LevelSortedRun> runs = new ArrayList<>();
        for (Args run : owner.objects("runs")) {
            int level = run.integer("level");
            List<DataFileMeta> files = new ArrayList<>();
            run.objects("files").forEach(file -> files.add(file(file, level)));
            runs.add(new LevelSortedRun(level, SortedRun.fromSorted(files)));
        }
        return runs;
    }

    static List<String> names(List<DataFileMeta> files) {
        return files.stream().map(DataFileMeta::fileName).toList();
    }

    static List<Object> describe(List<LevelSortedRun> runs) {
        List<Object> described = new ArrayList<>();
        runs.forEach(run -> described.add(Json.object("level", run.level(), "files", names(run.run().files()))));
        return described;
    }

    static List<List<List<String>>> describeSections(List<List<SortedRun>> sections) {
        return sections.stream()
                .map(section -> section.stream().map(run -> names(run.files())).toList())
                .toList();
    }
}
