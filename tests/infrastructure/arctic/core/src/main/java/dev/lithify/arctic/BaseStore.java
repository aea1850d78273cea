package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;

import com.netease.arctic.io.ArcticFileIO;
import com.netease.arctic.table.BasicKeyedTable;
import com.netease.arctic.table.TableIdentifier;
import com.netease.arctic.table.TableProperties;
import com.netease.arctic.utils.ArcticDataFiles;
import com.netease.arctic.utils.TablePropertyUtil;

import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.StructLikeMap;

import java.util.HashMap;
import java.util.Map;

/** A base store whose line comes from a request, as today's layout keeps it where Arctic 0.4.1 does not look. */
final class BaseStore extends BasicKeyedTable.BaseInternalTable {
    private final transient Args line;

    BaseStore(
            TableIdentifier identifier, Table table, ArcticFileIO io, Map<String, String> properties, Args line) {
        super(identifier, table, io, null, properties);
        this.line = line;
    }

    @Override
    public StructLikeMap<Map<String, String>> partitionProperty() {
        if (line == null) {
            return super.partitionProperty();
        }
        StructLikeMap<Map<String, String>> properties = StructLikeMap.create(spec().partitionType());
        line.fields().forEach((path, sequence) -> properties.put(partition(path),
                new HashMap<>(Map.of(TableProperties.PARTITION_OPTIMIZED_SEQUENCE, sequence.asText()))));
        return properties;
    }

    private StructLike partition(String path) {
        return spec().isUnpartitioned() ? TablePropertyUtil.EMPTY_STRUCT : ArcticDataFiles.data(spec(), path);
    }
}
