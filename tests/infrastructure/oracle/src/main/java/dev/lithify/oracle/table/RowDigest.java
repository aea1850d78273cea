package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.values.MultisetHash;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.table.Table;
import org.apache.paimon.types.RowType;

import java.util.Map;
import java.util.function.Function;

/** What a digest tells of the rows it was given: how many, of how many keys, and the hash of their texts. */
final class RowDigest {
    private final Function<InternalRow, String> text;
    private final DistinctKeys keys;
    private final MultisetHash hash = new MultisetHash();
    private long rows;

    RowDigest(Table table, RowType readType, Function<InternalRow, String> text) {
        this.text = text;
        this.keys = DistinctKeys.of(readType, table.primaryKeys());
    }

    void add(InternalRow row) {
        hash.add(text.apply(row));
        keys.add(row);
        rows++;
    }

    Map<String, Object> result() {
        return Json.object("rows", rows, "distinct_keys", keys.count(), "hash", hash.hex());
    }
}
