package dev.lithify.keyed;

import dev.lithify.oracle.protocol.Args;

import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Schemas and partition specs of keyed tables, from what requests say of them. */
public final class Schemas {
    private static final Pattern TRANSFORM = Pattern.compile("(\\w+)\\((?:(\\d+), *)?(\\w+)\\)");

    private Schemas() {}

    /** Columns are `{name, type}` with Iceberg's names of primitive types. Those of the key are required. */
    public static Schema schema(Args args) {
        List<String> key = args.texts("key");
        List<Types.NestedField> fields = new ArrayList<>();
        for (Args column : args.objects("columns")) {
            String name = column.text("name");
            int id = fields.size() + 1;
            fields.add(Types.NestedField.of(
                    id, !key.contains(name), name, Types.fromPrimitiveString(column.text("type"))));
        }
        return new Schema(fields);
    }

    /** Partition fields are names of columns, or transforms of them: `day(ts)`, `bucket(4, id)`. */
    public static PartitionSpec spec(Schema schema, Args args) {
        PartitionSpec.Builder spec = PartitionSpec.builderFor(schema);
        for (String field : args.texts("partition")) {
            Matcher transform = TRANSFORM.matcher(field);
            if (transform.matches()) {
                add(spec, transform.group(1), transform.group(2), transform.group(3));
            } else {
                spec.identity(field);
            }
        }
        return spec.build();
    }

    private static void add(PartitionSpec.Builder spec, String transform, String width, String column) {
        switch (transform) {
            case "bucket" -> spec.bucket(column, Integer.parseInt(width));
            case "truncate" -> spec.truncate(column, Integer.parseInt(width));
            case "year" -> spec.year(column);
            case "month" -> spec.month(column);
            case "day" -> spec.day(column);
            case "hour" -> spec.hour(column);
            default -> throw new IllegalArgumentException("Unknown transform '" + transform + "'");
        }
    }
}
