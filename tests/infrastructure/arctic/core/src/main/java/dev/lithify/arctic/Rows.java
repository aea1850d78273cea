package dev.lithify.arctic;

import dev.lithify.keyed.Values;
import dev.lithify.oracle.protocol.Args;

import org.apache.iceberg.Files;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetReaders;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;

import java.util.ArrayList;
import java.util.List;

/** The rows of a request: arrays in it, or a Parquet file with the columns by their names. */
final class Rows {
    private static final Types.NestedField ACTION =
            Types.NestedField.required(1_000_000, "_action", Types.StringType.get());

    private Rows() {}

    static CloseableIterable<Record> of(Args args, Schema schema) {
        if (!args.has("parquet")) {
            return CloseableIterable.transform(
                    CloseableIterable.withNoopClose(args.nodes("rows")),
                    row -> Values.record(schema, KeyOps.elements(row)));
        }
        return Parquet.read(Files.localInput(args.text("parquet")))
                .project(schema)
                .withNameMapping(MappingUtil.create(schema))
                .createReaderFunc(file -> GenericParquetReaders.buildReader(schema, file))
                .build();
    }

    /** Rows with their action as the first column, which files call `_action`. */
    static CloseableIterable<Record> withActions(Args args, Schema schema) {
        List<Types.NestedField> fields = new ArrayList<>(List.of(ACTION));
        fields.addAll(schema.columns());
        return of(args, new Schema(fields));
    }
}
