package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;

import com.netease.arctic.io.ArcticFileIO;
import com.netease.arctic.table.BasicKeyedTable;
import com.netease.arctic.table.ChangeTable;
import com.netease.arctic.table.TableIdentifier;
import com.netease.arctic.table.TableProperties;
import com.netease.arctic.utils.TablePropertyUtil;

import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.StructLikeMap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A base store whose line comes from a request, as today's layout keeps it where Arctic 0.4.1 does not look. The line
 * names partitions by their paths; those that have change files are found by these.
 */
final class BaseStore extends BasicKeyedTable.BaseInternalTable {
    private final transient Args line;
    private final transient ChangeTable change;

    BaseStore(TableIdentifier identifier, Table table, ArcticFileIO io, Args line, ChangeTable change) {
        super(identifier, table, io, null, Map.of());
        this.line = line;
        this.change = change;
    }

    @Override
    public StructLikeMap<Map<String, String>> partitionProperty() {
        StructLikeMap<Map<String, String>> properties = StructLikeMap.create(spec().partitionType());
        for (StructLike partition : partitions()) {
            line.findNumber(spec().partitionToPath(partition)).ifPresent(sequence -> properties.put(
                    spec().isUnpartitioned() ? TablePropertyUtil.EMPTY_STRUCT : partition,
                    new HashMap<>(Map.of(TableProperties.PARTITION_OPTIMIZED_SEQUENCE, sequence.toString()))));
        }
        return properties;
    }

    private List<StructLike> partitions() {
        try {
            return TableOps.entries(change).stream().map(entry -> entry.getFile().partition()).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
