package dev.lithify.oracle.planner;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.table.Tables;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.append.cluster.IncrementalClusterManager;
import org.apache.paimon.append.cluster.IncrementalClusterStrategy;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.sort.hilbert.HilbertIndexer;
import org.apache.paimon.sort.zorder.ZIndexer;
import org.apache.paimon.table.FileStoreTable;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Ops that ask Java which files of a clustered table it sorts together, and by which keys. */
public final class ClusterPlannerOps {
    private final Tables tables;

    public ClusterPlannerOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("cluster_pick", this::pick);
        ops.put("curve_positions", this::positions);
    }

    /** The strategy finds out by which columns files were sorted in the schemas of the table. */
    private Object pick(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return PlannerOps.each(args, single -> {
            Args options = single.objectOrEmpty("options");
            IncrementalClusterStrategy strategy = new IncrementalClusterStrategy(
                    table.schemaManager(),
                    single.texts("columns"),
                    options.integer("max_size_amp", 200),
                    options.integer("size_ratio", 1),
                    options.integer("trigger", 5));
            Optional<CompactUnit> unit = strategy.pick(
                    single.integer("num_levels", 6),
                    IncrementalClusterManager.constructPartitionLevels(PlannedFiles.files(single)),
                    single.flag("full", false));
            return unit.map(picked -> Json.object(
                            "output_level", picked.outputLevel(), "files", PlannedFiles.names(picked.files())))
                    .orElse(null);
        });
    }

    private Object positions(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        List<String> columns = args.texts("columns");
        Function<InternalRow, byte[]> position;
        if (args.text("strategy").equals("hilbert")) {
            HilbertIndexer indexer = new HilbertIndexer(table.rowType(), columns);
            indexer.open();
            position = indexer::index;
        } else {
            ZIndexer indexer = new ZIndexer(
                    table.rowType(), columns, table.coreOptions().varTypeSize());
            indexer.open();
            position = indexer::index;
        }
        List<String> positions = new ArrayList<>();
        for (JsonNode row : args.nodes("rows")) {
            positions.add(HexFormat.of().formatHex(position.apply(ValueParser.rowWithKind(row, table.rowType()))));
        }
        return positions;
    }
}
