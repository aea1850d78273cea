package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.FileSystemCatalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.options.CatalogOptions;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;

/**
 * Finds the table a request is about: {@code warehouse} and {@code table} through the filesystem catalog, or
 * through one with the options {@code catalog}, or a table folder by its {@code path}. Nothing is cached but the
 * catalogs, because others change the folders.
 */
public final class Tables {
    private final Map<Map<String, String>, Catalog> catalogs = new HashMap<>();

    public Catalog catalog(Args args) {
        Map<String, String> options = args.textMap("catalog");
        options.put(CatalogOptions.WAREHOUSE.key(), args.text("warehouse"));
        return catalogs.computeIfAbsent(options, Tables::open);
    }

    /** {@code db.t}, {@code db.t$branch_b} or {@code db.t$files}. */
    public Identifier identifier(Args args) {
        return Identifier.fromString(args.text("table"));
    }

    /** Any table, system tables included, with the dynamic options of the request. */
    public Table anyTable(Args args) throws Exception {
        Table table = args.has("path") ? atPath(args) : catalog(args).getTable(identifier(args));
        Map<String, String> options = args.textMap("options");
        return options.isEmpty() ? table : table.copy(options);
    }

    /** A table that has files of its own. */
    public FileStoreTable table(Args args) throws Exception {
        Table table = anyTable(args);
        if (table instanceof FileStoreTable fileStoreTable) {
            return fileStoreTable;
        }
        throw new IllegalArgumentException(table.fullName() + " is a " + table.getClass().getSimpleName()
                + ", not a table with data files");
    }

    private static FileStoreTable atPath(Args args) {
        return FileStoreTableFactory.create(BufferedFiles.orAsPaimon(), new Path(args.text("path")));
    }

    private static Catalog open(Map<String, String> options) {
        if (options.containsKey(CatalogOptions.METASTORE.key())) {
            Options uncached = Options.fromMap(options);
            uncached.set(CatalogOptions.CACHE_ENABLED, false);
            return CatalogFactory.createCatalog(CatalogContext.create(uncached));
        }
        Path path = new Path(options.get(CatalogOptions.WAREHOUSE.key()));
        CatalogContext context = CatalogContext.create(path);
        try {
            FileIO files = "hdfs".equals(path.toUri().getScheme())
                    ? FileIO.get(path, context)
                    : BufferedFiles.orAsPaimon();
            files.checkOrMkdirs(path);
            return new FileSystemCatalog(files, path, context);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
