package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import com.netease.arctic.IcebergFileEntry;
import com.netease.arctic.scan.TableEntriesScan;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.table.UnkeyedTable;
import com.netease.arctic.utils.TablePropertyUtil;

import org.apache.iceberg.DeleteFiles;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.io.CloseableIterable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** Tables, their properties, files and lines. */
final class TableOps {
    private final Tables tables;

    TableOps(Tables tables) {
        this.tables = tables;
    }

    void register(Map<String, Op> ops) {
        ops.put("create", this::create);
        ops.put("set_properties", this::setProperties);
        ops.put("files", this::files);
        ops.put("line", this::line);
        ops.put("expire_change_files", this::expireChangeFiles);
        ops.put("roll_back_base", this::rollBackBase);
    }

    private Object create(Args args) {
        tables.create(args);
        return true;
    }

    /** Of both stores, as Arctic does it for keyed tables. */
    private Object setProperties(Args args) {
        KeyedTable table = tables.open(args);
        for (UnkeyedTable store : List.of(table.baseTable(), table.changeTable())) {
            UpdateProperties update = store.updateProperties();
            args.textMap("properties").forEach(update::set);
            update.commit();
        }
        return true;
    }

    private Object files(Args args) throws IOException {
        KeyedTable table = tables.open(args);
        FileJson json = new FileJson(table.spec());
        return Json.object(
                "base", live(table.baseTable(), entry -> json.base(entry.getFile(), entry.getSequenceNumber())),
                "change", live(table.changeTable(),
                        entry -> json.change(entry.getFile(), entry.getSequenceNumber())));
    }

    private static List<Object> live(UnkeyedTable store, Function<IcebergFileEntry, Object> json)
            throws IOException {
        List<Object> files = new ArrayList<>();
        for (IcebergFileEntry entry : entries(store)) {
            files.add(json.apply(entry));
        }
        return files;
    }

    static List<IcebergFileEntry> entries(UnkeyedTable store) throws IOException {
        List<IcebergFileEntry> entries = new ArrayList<>();
        if (store.currentSnapshot() != null) {
            TableEntriesScan scan =
                    TableEntriesScan.builder(store).includeFileContent(FileContent.values()).build();
            try (CloseableIterable<IcebergFileEntry> found = scan.entries()) {
                found.forEach(entries::add);
            }
        }
        return entries;
    }

    /** The largest sequence number of the change store that is in base, by partition. */
    private Object line(Args args) {
        KeyedTable table = tables.open(args);
        Map<String, Long> line = new TreeMap<>();
        TablePropertyUtil.getPartitionOptimizedSequence(table)
                .forEach((partition, sequence) -> line.put(table.spec().partitionToPath(partition), sequence));
        return line;
    }

    private Object expireChangeFiles(Args args) {
        DeleteFiles delete = tables.open(args).changeTable().newDelete();
        args.texts("files").forEach(delete::deleteFile);
        delete.commit();
        return true;
    }

    /** To the parent of the newest snapshot. */
    private Object rollBackBase(Args args) {
        UnkeyedTable base = tables.open(args).baseTable();
        base.manageSnapshots().rollbackTo(base.currentSnapshot().parentId()).commit();
        return true;
    }
}
