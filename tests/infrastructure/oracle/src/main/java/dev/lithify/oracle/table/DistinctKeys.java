package dev.lithify.oracle.table;

import dev.lithify.oracle.values.RowText;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.ProjectedRow;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Counts the different primary keys among millions of rows by a 64-bit hash of each. */
final class DistinctKeys {
    private final RowText text;
    private final ProjectedRow key;
    private long[] hashes = new long[1024];
    private int size;

    private DistinctKeys(RowText text, ProjectedRow key) {
        this.text = text;
        this.key = key;
    }

    /** Counts nothing when the rows do not carry a whole key. */
    static DistinctKeys of(RowType rowType, List<String> primaryKey) {
        if (primaryKey.isEmpty() || !rowType.getFieldNames().containsAll(primaryKey)) {
            return new DistinctKeys(null, null);
        }
        int[] indexes = rowType.getFieldIndices(primaryKey);
        List<DataType> types = Arrays.stream(indexes).mapToObj(rowType::getTypeAt).toList();
        return new DistinctKeys(new RowText(types), ProjectedRow.from(indexes));
    }

    void add(InternalRow row) {
        if (text == null) {
            return;
        }
        if (size == hashes.length) {
            hashes = Arrays.copyOf(hashes, size * 2);
        }
        hashes[size++] = hash(text.text(key.replaceRow(row)));
    }

    private static long hash(String text) {
        long hash = 0;
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ b) * 0x9e3779b97f4a7c15L;
            hash ^= hash >>> 29;
        }
        return hash;
    }

    /** The number of different keys, or null when there are no keys to count. */
    Long count() {
        return text == null ? null : (Long) Arrays.stream(hashes, 0, size).sorted().distinct().count();
    }
}
