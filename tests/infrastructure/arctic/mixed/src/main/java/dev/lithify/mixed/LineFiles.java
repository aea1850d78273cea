package dev.lithify.mixed;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.iceberg.GenericBlobMetadata;
import org.apache.iceberg.GenericStatisticsFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StatisticsFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.puffin.Blob;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;
import org.apache.iceberg.puffin.PuffinWriter;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The line as Amoro stores it: until 0.6.0 in a property of base, since then in a Puffin file for each snapshot that
 * moves it, with sequence numbers and times of all partitions.
 */
final class LineFiles {
    static final String SEQUENCES = "optimized-sequence";
    static final String TIMES = "base-optimized-time";
    static final String PROPERTY = "table.partition-properties";
    private static final String FLAG = ".exist";
    private static final ObjectMapper JSON = new ObjectMapper();

    private LineFiles() {}

    /** The notes of snapshots that have such a file. */
    static Map<String, String> flags() {
        return Map.of(SEQUENCES + FLAG, "true", TIMES + FLAG, "true");
    }

    static Map<String, Long> sequences(Table base) throws IOException {
        Optional<Map<String, Long>> stored = stored(base, SEQUENCES);
        return stored.isPresent() ? stored.get() : ofProperty(base, "max-txId");
    }

    static Map<String, Long> times(Table base) throws IOException {
        Optional<Map<String, Long>> stored = stored(base, TIMES);
        return stored.isPresent() ? stored.get() : ofProperty(base, "base-op-time");
    }

    /** The blob of the nearest ancestor whose summary says that it has one. */
    private static Optional<Map<String, Long>> stored(Table base, String type) throws IOException {
        Snapshot snapshot = base.currentSnapshot();
        while (snapshot != null && !snapshot.summary().containsKey(type + FLAG)) {
            snapshot = snapshot.parentId() == null ? null : base.snapshot(snapshot.parentId());
        }
        if (snapshot == null) {
            return Optional.empty();
        }
        long id = snapshot.snapshotId();
        StatisticsFile file = base.statisticsFiles().stream()
                .filter(each -> each.snapshotId() == id)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("Snapshot " + id + " has no line"));
        return Optional.of(blob(base, file, type));
    }

    private static Map<String, Long> blob(Table base, StatisticsFile file, String type) throws IOException {
        try (PuffinReader reader = Puffin.read(base.io().newInputFile(file.path())).build()) {
            List<BlobMetadata> blobs = reader.fileMetadata().blobs().stream()
                    .filter(blob -> blob.type().equals(type))
                    .toList();
            ByteBuffer data = reader.readAll(blobs).iterator().next().second();
            return JSON.readValue(StandardCharsets.UTF_8.decode(data).toString(), new TypeReference<>() {});
        }
    }

    private static Map<String, Long> ofProperty(Table base, String name) throws IOException {
        Map<String, Long> found = new TreeMap<>();
        properties(base).forEach((path, held) -> {
            if (held.containsKey(name)) {
                found.put(path, Long.parseLong(held.get(name)));
            }
        });
        return found;
    }

    static Map<String, Map<String, String>> properties(Table base) throws IOException {
        String stored = base.properties().getOrDefault(PROPERTY, "{}");
        return JSON.readValue(stored, new TypeReference<>() {});
    }

    static StatisticsFile write(
            Table base, Snapshot snapshot, Map<String, Long> sequences, Map<String, Long> times) throws IOException {
        OutputFile file = base.io().newOutputFile(base.location() + "/data/puffin/" + snapshot.snapshotId() + "-"
                + UUID.randomUUID() + ".puffin");
        try (PuffinWriter writer = Puffin.write(file).build()) {
            writer.add(blob(SEQUENCES, snapshot, sequences));
            writer.add(blob(TIMES, snapshot, times));
            writer.finish();
            return new GenericStatisticsFile(snapshot.snapshotId(), file.location(), writer.fileSize(),
                    writer.footerSize(),
                    writer.writtenBlobsMetadata().stream().map(GenericBlobMetadata::from).toList());
        }
    }

    private static Blob blob(String type, Snapshot snapshot, Map<String, Long> numbers) throws IOException {
        byte[] data = JSON.writeValueAsBytes(numbers);
        return new Blob(type, List.of(), snapshot.snapshotId(), snapshot.sequenceNumber(), ByteBuffer.wrap(data));
    }

    /** The same file for another snapshot of the same transaction. */
    static StatisticsFile copied(StatisticsFile file, Snapshot snapshot) {
        return new GenericStatisticsFile(snapshot.snapshotId(), file.path(), file.fileSizeInBytes(),
                file.fileFooterSizeInBytes(), file.blobMetadata());
    }

    static String json(Object value) throws IOException {
        return JSON.writeValueAsString(value);
    }
}
