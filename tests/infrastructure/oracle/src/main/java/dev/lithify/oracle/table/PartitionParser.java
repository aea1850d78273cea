package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

/** Reads a whole partition from its JSON object, {@code {"dt":"2024-01-01","hh":3}}. */
final class PartitionParser {
    private PartitionParser() {}

    static BinaryRow parse(RowType partitionType, Args partition) {
        GenericRow row = new GenericRow(partitionType.getFieldCount());
        for (int i = 0; i < partitionType.getFieldCount(); i++) {
            DataType type = partitionType.getTypeAt(i);
            row.setField(i, partition.find(partitionType.getFieldNames().get(i))
                    .map(node -> ValueParser.value(node, type))
                    .orElse(null));
        }
        return new InternalRowSerializer(partitionType).toBinaryRow(row).copy();
    }
}
