package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.fileindex.FileIndexResult;
import org.apache.paimon.fileindex.bitmap.BitmapIndexResult;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataFilePathFactory;
import org.apache.paimon.io.FileIndexEvaluator;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.RowType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What Paimon's readers take from the file indexes of live data files: for each filter how many rows of each file
 * are still read, 0 if the file is skipped. Files of older schemas are left out: filters would have to be converted.
 */
public final class FileIndexOp implements Op {
    private final Tables tables;

    public FileIndexOp(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        long schema = table.schema().id();
        List<ManifestEntry> entries = table.store().newScan().plan().files().stream()
                .filter(entry -> entry.file().schemaId() == schema)
                .toList();
        List<Object> answers = new ArrayList<>();
        for (Args filter : args.objects("filters")) {
            Predicate predicate = predicate(table.rowType(), filter);
            Map<String, Long> rows = new LinkedHashMap<>();
            for (ManifestEntry entry : entries) {
                rows.put(entry.fileName(), rowsLeft(table, entry, predicate));
            }
            answers.add(rows);
        }
        return answers;
    }

    /** A filter on a column, or on the values of one key of a map, which a reader would name {@code m[key]}. */
    private static Predicate predicate(RowType type, Args filter) {
        return new FilterParser(MapKeys.withColumn(type, filter.text("column"))).parse(filter);
    }

    private static long rowsLeft(FileStoreTable table, ManifestEntry entry, Predicate predicate) throws IOException {
        DataFileMeta file = entry.file();
        DataFilePathFactory paths =
                table.store().pathFactory().createDataFilePathFactory(entry.partition(), entry.bucket());
        FileIndexResult result = FileIndexEvaluator.evaluate(
                table.fileIO(), table.schema(), List.of(predicate), null, null, paths, file, null);
        if (!result.remain()) {
            return 0;
        }
        return result instanceof BitmapIndexResult bitmap ? bitmap.get().getCardinality() : file.rowCount();
    }
}
