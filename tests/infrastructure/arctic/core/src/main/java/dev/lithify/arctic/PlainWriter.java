package dev.lithify.arctic;

import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.io.PartitionedFanoutWriter;

/** Data files with the names of other writers of Iceberg, as tables that Arctic took over have them. */
final class PlainWriter extends PartitionedFanoutWriter<Record> {
    private final PartitionKey key;
    private final InternalRecordWrapper wrapper;

    PlainWriter(Table table) {
        super(table.spec(), FileFormat.PARQUET, new GenericAppenderFactory(table.schema(), table.spec()),
                OutputFileFactory.builderFor(table, 0, 0).format(FileFormat.PARQUET).build(), table.io(),
                Long.MAX_VALUE);
        this.key = new PartitionKey(table.spec(), table.schema());
        this.wrapper = new InternalRecordWrapper(table.schema().asStruct());
    }

    @Override
    protected PartitionKey partition(Record row) {
        key.partition(wrapper.wrap(row));
        return key;
    }
}
