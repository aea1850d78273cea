package dev.lithify.arctic;

import dev.lithify.oracle.protocol.Args;

import com.fasterxml.jackson.databind.JsonNode;
import com.netease.arctic.data.DataTreeNode;
import com.netease.arctic.data.file.FileNameGenerator;
import com.netease.arctic.io.writer.GenericTaskWriters;
import com.netease.arctic.io.writer.OutputFileFactory;
import com.netease.arctic.io.writer.SortedPosDeleteWriter;
import com.netease.arctic.table.KeyedTable;

import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.data.GenericAppenderFactory;
import org.apache.iceberg.data.Record;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Position deletes in the way of Arctic's minor, a file for each partition and node. The node is that of the data
 * file's name, or a given one; with plain names, which other writers of Iceberg use, there is none.
 */
final class PositionDeletes {
    private final KeyedTable table;
    private final Args args;
    private final Map<String, SortedPosDeleteWriter<Record>> writers = new LinkedHashMap<>();

    PositionDeletes(KeyedTable table, Args args) {
        this.table = table;
        this.args = args;
    }

    void add(String file, StructLike partition, List<JsonNode> positions) {
        DataTreeNode node = args.findNumber("node")
                .map(DataTreeNode::ofId)
                .orElseGet(() -> FileNameGenerator.parseFileNodeFromFileName(file));
        String key = table.spec().partitionToPath(partition) + "/" + node.getId();
        SortedPosDeleteWriter<Record> writer = writers.computeIfAbsent(key, none -> writer(node, partition));
        positions.forEach(position -> writer.delete(file, position.longValue()));
    }

    List<DeleteFile> complete() throws IOException {
        List<DeleteFile> files = new ArrayList<>();
        for (SortedPosDeleteWriter<Record> writer : writers.values()) {
            files.addAll(writer.complete());
        }
        return files;
    }

    private SortedPosDeleteWriter<Record> writer(DataTreeNode node, StructLike partition) {
        if (args.flag("plain_names", false)) {
            return new SortedPosDeleteWriter<>(
                    new GenericAppenderFactory(table.baseTable().schema(), table.spec()),
                    plainNames(partition), table.io(), FileFormat.PARQUET, partition);
        }
        return GenericTaskWriters.builderFor(table)
                .withTransactionId(args.number("transaction_id"))
                .buildBasePosDeleteWriter(node.mask(), node.index(), partition);
    }

    private OutputFileFactory plainNames(StructLike partition) {
        org.apache.iceberg.io.OutputFileFactory names =
                org.apache.iceberg.io.OutputFileFactory.builderFor(table.baseTable(), 0, 0).build();
        return key -> table.spec().isUnpartitioned()
                ? names.newOutputFile()
                : names.newOutputFile(table.spec(), partition);
    }
}
