package dev.lithify.mixed;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Tables, where their stores are, and their lines. */
final class StoreOps {
    private final Stores stores;

    StoreOps(Stores stores) {
        this.stores = stores;
    }

    void register(Map<String, Op> ops) {
        ops.put("create", this::create);
        ops.put("state", this::state);
        ops.put("set_properties", this::setProperties);
    }

    private Object create(Args args) {
        stores.create(args);
        return true;
    }

    /** The metadata files of both stores, and the line. */
    private Object state(Args args) throws IOException {
        Table base = stores.base(args);
        return Json.object(
                "base", metadata(base),
                "change", metadata(stores.change(args)),
                "line", LineFiles.sequences(base));
    }

    private static String metadata(Table table) {
        return ((BaseTable) table).operations().current().metadataFileLocation();
    }

    private Object setProperties(Args args) {
        for (Table store : List.of(stores.base(args), stores.change(args))) {
            UpdateProperties update = store.updateProperties();
            args.textMap("properties").forEach(update::set);
            update.commit();
        }
        return true;
    }
}
