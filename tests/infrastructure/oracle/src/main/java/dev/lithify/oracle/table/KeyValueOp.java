package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.RowText;

import org.apache.paimon.KeyValue;
import org.apache.paimon.KeyValueFileStore;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.KeyValueFileReaderFactory;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The key-values of data files as they stand in them, unmerged, with deletions and without deletion vectors. Files
 * are read the way a merge reads them: with the schema of the table, evolved from the file's own.
 */
public final class KeyValueOp implements Op {
    private final Tables tables;

    public KeyValueOp(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        if (!(table.store() instanceof KeyValueFileStore store)) {
            throw new IllegalArgumentException("Only the files of a table with a primary key hold key-values");
        }
        DataFileFinder finder = new DataFileFinder(table);
        List<Object> rows = new ArrayList<>();
        for (Args file : args.objects("files")) {
            BinaryRow partition =
                    PartitionParser.parse(table.schema().logicalPartitionType(), file.objectOrEmpty("partition"));
            int bucket = file.integer("bucket");
            KeyValueFileReaderFactory readers =
                    store.newReaderFactoryBuilder().build(partition, bucket, DeletionVector.emptyFactory());
            rows.add(rows(table, readers, finder.find(partition, bucket, file.text("file"))));
        }
        return rows;
    }

    private static Object rows(FileStoreTable table, KeyValueFileReaderFactory readers, DataFileMeta file)
            throws IOException {
        List<DataType> keyTypes =
                table.schema().trimmedPrimaryKeysFields().stream().map(DataField::type).toList();
        RowText keyText = new RowText(keyTypes);
        RowText valueText = new RowText(table.rowType());
        StringBuilder out = new StringBuilder("[");
        try (RecordReader<KeyValue> reader = readers.createRecordReader(file)) {
            reader.forEachRemaining(kv -> {
                out.append(out.length() == 1 ? "[" : ",[");
                keyText.append(out, kv.key());
                out.append(',').append(kv.sequenceNumber());
                out.append(",\"").append(kv.valueKind().shortString()).append("\",");
                valueText.append(out, kv.value());
                out.append(']');
            });
        }
        return Json.raw(out.append(']'));
    }
}
