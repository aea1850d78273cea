package dev.lithify.oracle.table;

import org.apache.paimon.fileindex.FileIndexOptions;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The values of one key of a map as a column of its own. */
final class MapKeys {
    private MapKeys() {}

    /** The type with one more column if the name is that of a key, {@code m[key]}. */
    static RowType withColumn(RowType type, String name) {
        Optional<Integer> start = FileIndexOptions.topLevelIndexOfNested(name);
        if (start.isEmpty() || type.containsField(name)) {
            return type;
        }
        MapType map = (MapType) type.getField(name.substring(0, start.get())).type();
        List<DataField> fields = new ArrayList<>(type.getFields());
        fields.add(new DataField(Integer.MAX_VALUE, name, map.getValueType()));
        return new RowType(fields);
    }
}
