package dev.lithify.arctic;

import dev.lithify.keyed.Schemas;
import dev.lithify.oracle.protocol.Args;

import com.netease.arctic.ams.api.TableMeta;
import com.netease.arctic.io.ArcticFileIO;
import com.netease.arctic.io.ArcticFileIOs;
import com.netease.arctic.table.BasicKeyedTable;
import com.netease.arctic.table.ChangeTable;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.table.PrimaryKeySpec;
import com.netease.arctic.table.TableIdentifier;
import com.netease.arctic.table.TableMetaStore;
import com.netease.arctic.utils.CatalogUtil;

import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.hadoop.HadoopTables;

import java.util.HashMap;
import java.util.Map;

/**
 * Makes and opens keyed tables as Arctic's catalog does, but without its service. A table of the 0.4 layout is a
 * folder; one of today's layout, which is only read here, is two files of Iceberg's metadata and a line. The key
 * comes with every request, because tables of 0.4 do not store it.
 */
final class Tables {
    private static final TableIdentifier NAME = TableIdentifier.of("lithify", "db", "t");

    private final TableMetaStore store = TableMetaStore.EMPTY;
    private final Configuration configuration = store.getConfiguration();
    private final HadoopTables folders = new HadoopTables(configuration);

    void create(Args args) {
        Schema schema = Schemas.schema(args);
        PartitionSpec spec = Schemas.spec(schema, args);
        Map<String, String> properties = new HashMap<>(args.textMap("properties"));
        properties.put(com.netease.arctic.table.TableProperties.TABLE_CREATE_TIME,
                String.valueOf(System.currentTimeMillis()));
        properties.put(TableProperties.FORMAT_VERSION, "2");
        properties.put(TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED, "true");
        properties.put("flink.max-continuous-empty-commits", String.valueOf(Integer.MAX_VALUE));
        String location = args.text("location");
        folders.create(schema, spec, properties, location + "/base");
        folders.create(schema, spec, properties, location + "/change");
    }

    KeyedTable open(Args args) {
        return args.has("location") ? ofFolder(args) : ofMetadata(args);
    }

    private KeyedTable ofFolder(Args args) {
        String location = args.text("location");
        ArcticFileIO io = io(location);
        ChangeTable change = change(store(location + "/change", io), io);
        Table base = store(location + "/base", io);
        return keyed(args, location, change, new BasicKeyedTable.BaseInternalTable(NAME, base, io, null, Map.of()));
    }

    private Table store(String location, ArcticFileIO io) {
        return CatalogUtil.useArcticTableOperations(folders.load(location), location, io, configuration);
    }

    private KeyedTable ofMetadata(Args args) {
        ArcticFileIO io = io(args.text("base"));
        ChangeTable change = change(pinned("change", args, io), io);
        Table base = pinned("base", args, io);
        return keyed(args, args.text("base"), change,
                new BaseStore(NAME, base, io, args.objectOrEmpty("line"), change));
    }

    private static Table pinned(String name, Args args, ArcticFileIO io) {
        TableMetadata metadata = TableMetadataParser.read(io, args.text(name));
        return new BaseTable(
                new StaticTableOperations(
                        args.text(name), io,
                        LocationProviders.locationsFor(metadata.location(), metadata.properties())),
                name);
    }

    private static ChangeTable change(Table table, ArcticFileIO io) {
        return new BasicKeyedTable.ChangeInternalTable(NAME, table, io, null, Map.of());
    }

    private static KeyedTable keyed(
            Args args, String location, ChangeTable change, BasicKeyedTable.BaseInternalTable base) {
        TableMeta meta = new TableMeta();
        meta.setTableIdentifier(NAME.buildTableIdentifier());
        PrimaryKeySpec.Builder key = PrimaryKeySpec.builderFor(base.schema());
        args.texts("key").forEach(key::addColumn);
        return new BasicKeyedTable(meta, location, key.build(), null, base, change);
    }

    private ArcticFileIO io(String location) {
        return ArcticFileIOs.buildTableFileIO(NAME, location, Map.of(), store, Map.of());
    }
}
