package dev.lithify.mixed;

import dev.lithify.keyed.Schemas;
import dev.lithify.oracle.protocol.Args;

import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.TableIdentifier;

import java.util.HashMap;
import java.util.Map;

/**
 * The stores of tables in any catalog of Iceberg. A request names the catalog, `{name, properties}`, and the table,
 * which is that of the base store; its properties name the change store.
 */
final class Stores {
    private static final String CHANGE_IDENTIFIER = "mixed-format.change.identifier";

    private final Configuration configuration = new Configuration();
    private final Map<String, Catalog> catalogs = new HashMap<>();

    void create(Args args) {
        Catalog catalog = catalog(args);
        TableIdentifier base = TableIdentifier.parse(args.text("table"));
        TableIdentifier change = TableIdentifier.of(base.namespace(), base.name() + "_change_");
        SupportsNamespaces namespaces = (SupportsNamespaces) catalog;
        if (!namespaces.namespaceExists(base.namespace())) {
            namespaces.createNamespace(base.namespace());
        }
        create(catalog, base, args, Map.of("mixed-format.table-store", "base", CHANGE_IDENTIFIER, change.toString()));
        create(catalog, change, args, Map.of("mixed-format.table-store", "change"));
    }

    private static void create(Catalog catalog, TableIdentifier name, Args args, Map<String, String> own) {
        Schema schema = Schemas.schema(args);
        PartitionSpec spec = Schemas.spec(schema, args);
        Map<String, String> properties = new HashMap<>(args.textMap("properties"));
        properties.put("table-format", "MIXED_ICEBERG");
        properties.put("mixed-format.primary-key-fields", String.join(",", args.texts("key")));
        properties.put("table.create-timestamp", String.valueOf(System.currentTimeMillis()));
        properties.put("format-version", "2");
        properties.put("write.metadata.delete-after-commit.enabled", "true");
        properties.put("flink.max-continuous-empty-commits", String.valueOf(Integer.MAX_VALUE));
        properties.putAll(own);
        catalog.buildTable(name, schema).withPartitionSpec(spec).withProperties(properties).create();
    }

    Table base(Args args) {
        return catalog(args).loadTable(TableIdentifier.parse(args.text("table")));
    }

    Table change(Args args) {
        String change = base(args).properties().get(CHANGE_IDENTIFIER);
        return catalog(args).loadTable(TableIdentifier.parse(change));
    }

    /** The store that a request names. */
    Table named(Args args) {
        return switch (args.text("store")) {
            case "base" -> base(args);
            case "change" -> change(args);
            default -> throw args.wrong("store", "base or change", args.text("store"));
        };
    }

    private Catalog catalog(Args args) {
        Args catalog = args.object("catalog");
        String name = catalog.text("name");
        return catalogs.computeIfAbsent(name, none ->
                CatalogUtil.buildIcebergCatalog(name, uncached(catalog.textMap("properties")), configuration));
    }

    private static Map<String, String> uncached(Map<String, String> properties) {
        Map<String, String> all = new HashMap<>(properties);
        all.put("cache-enabled", "false");
        return all;
    }
}
