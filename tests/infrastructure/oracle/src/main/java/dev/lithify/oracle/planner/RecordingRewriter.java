package dev.lithify.oracle.planner;

import dev.lithify.oracle.protocol.Json;

import org.apache.paimon.compact.CompactResult;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.mergetree.compact.CompactRewriter;
import org.apache.paimon.stats.SimpleStats;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Writes down what a compaction task asks for instead of doing it. */
final class RecordingRewriter implements CompactRewriter {
    final List<Object> rewrites = new ArrayList<>();
    final List<Object> upgrades = new ArrayList<>();

    @Override
    public CompactResult rewrite(int outputLevel, boolean dropDelete, List<List<SortedRun>> sections) {
        rewrites.add(Json.object(
                "output_level", outputLevel,
                "drop_delete", dropDelete,
                "sections", PlannedFiles.describeSections(sections)));
        List<DataFileMeta> before = sections.stream()
                .flatMap(Collection::stream)
                .flatMap(run -> run.files().stream())
                .toList();
        return new CompactResult(before, List.of(merged(before, outputLevel)));
    }

    @Override
    public CompactResult upgrade(int outputLevel, DataFileMeta file) {
        upgrades.add(Json.object("name", file.fileName(), "output_level", outputLevel));
        return new CompactResult(file, file.upgrade(outputLevel));
    }

    /** One file in the place of all the inputs. */
    private DataFileMeta merged(List<DataFileMeta> inputs, int level) {
        BinaryRow min = inputs.stream().map(DataFileMeta::minKey).min(PlannedFiles.KEYS).orElseThrow();
        BinaryRow max = inputs.stream().map(DataFileMeta::maxKey).max(PlannedFiles.KEYS).orElseThrow();
        return DataFileMeta.create(
                "rewrite-" + rewrites.size(),
                inputs.stream().mapToLong(DataFileMeta::fileSize).sum(),
                inputs.stream().mapToLong(DataFileMeta::rowCount).sum(),
                min,
                max,
                SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS,
                inputs.stream().mapToLong(DataFileMeta::minSequenceNumber).min().orElseThrow(),
                inputs.stream().mapToLong(DataFileMeta::maxSequenceNumber).max().orElseThrow(),
                0,
                level,
                0L,
                null,
                FileSource.COMPACT,
                null,
                null,
                null);
    }

    @Override
    public void close() {}
}
