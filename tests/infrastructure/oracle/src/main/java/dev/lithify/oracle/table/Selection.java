package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.values.ValueParser;
import dev.lithify.oracle.values.ValueText;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The partitions and buckets a request is about: {@code partitions} is a list of objects, of which a partition
 * has to match one in all the columns it names, {@code buckets} a list of numbers. What is absent takes all.
 */
public final class Selection {
    private final RowType partitionType;
    private final List<Args> partitions;
    private final Set<Integer> buckets = new HashSet<>();

    public Selection(RowType partitionType, Args args) {
        this.partitionType = partitionType;
        this.partitions = args.objects("partitions");
        args.nodes("buckets").forEach(bucket -> buckets.add(bucket.intValue()));
    }

    /** Whether only some partitions are meant. */
    public boolean namesPartitions() {
        return !partitions.isEmpty();
    }

    public boolean accepts(BinaryRow partition, int bucket) {
        return (buckets.isEmpty() || buckets.contains(bucket)) && accepts(partition);
    }

    public boolean accepts(BinaryRow partition) {
        return partitions.isEmpty() || partitions.stream().anyMatch(wanted -> matches(wanted, partition));
    }

    private boolean matches(Args wanted, BinaryRow partition) {
        for (Map.Entry<String, JsonNode> column : wanted.fields().entrySet()) {
            int index = partitionType.getFieldIndex(column.getKey());
            if (index < 0) {
                throw wanted.wrong(column.getKey(), "one of " + partitionType.getFieldNames(), column.getKey());
            }
            DataType type = partitionType.getTypeAt(index);
            GenericRow value = GenericRow.of(ValueParser.value(column.getValue(), type));
            StringBuilder expected = new StringBuilder();
            StringBuilder actual = new StringBuilder();
            ValueText text = ValueText.of(type);
            text.append(expected, value, 0);
            text.append(actual, partition, index);
            if (!expected.toString().contentEquals(actual)) {
                return false;
            }
        }
        return true;
    }
}
