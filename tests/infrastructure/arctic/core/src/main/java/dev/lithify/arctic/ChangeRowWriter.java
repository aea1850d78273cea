package dev.lithify.arctic;

import com.netease.arctic.data.ChangeAction;
import com.netease.arctic.io.writer.CommonOutputFileFactory;
import com.netease.arctic.io.writer.GenericChangeTaskWriter;
import com.netease.arctic.table.KeyedTable;
import com.netease.arctic.table.TableProperties;
import com.netease.arctic.utils.SchemaUtil;

import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.util.PropertyUtil;

import java.io.IOException;

/**
 * Arctic's generic change writer with an action for each row. Arctic's own has one for all rows; Flink's, which
 * has one for each, extends the same class.
 */
final class ChangeRowWriter extends GenericChangeTaskWriter {
    private final Schema schema;
    private ChangeAction action = ChangeAction.INSERT;

    ChangeRowWriter(KeyedTable table, long transactionId, int partitionId, int taskId) {
        super(FileFormat.PARQUET,
                new GenericAppenderFactory(
                        SchemaUtil.changeWriteSchema(table.changeTable().schema()), table.spec()),
                new CommonOutputFileFactory(table.changeLocation(), table.spec(), FileFormat.PARQUET, table.io(),
                        table.changeTable().encryption(), partitionId, taskId, transactionId),
                table.io(),
                number(table, TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
                        TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT),
                number(table, TableProperties.CHANGE_FILE_INDEX_HASH_BUCKET,
                        TableProperties.CHANGE_FILE_INDEX_HASH_BUCKET_DEFAULT) - 1,
                table.changeTable().schema(), table.spec(), table.primaryKeySpec(),
                ChangeAction.INSERT, false);
        this.schema = table.changeTable().schema();
    }

    /** Writes a row whose first column is its action. */
    void writeWithAction(Record row) throws IOException {
        action = ChangeAction.valueOf((String) row.get(0));
        Record values = GenericRecord.create(schema);
        for (int i = 0; i < values.size(); i++) {
            values.set(i, row.get(i + 1));
        }
        write(values);
    }

    @Override
    protected ChangeAction action(Record row) {
        return action;
    }

    private static long number(KeyedTable table, String property, long otherwise) {
        return PropertyUtil.propertyAsLong(table.properties(), property, otherwise);
    }
}
