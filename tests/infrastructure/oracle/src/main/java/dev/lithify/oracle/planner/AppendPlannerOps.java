package dev.lithify.oracle.planner;

import dev.lithify.oracle.compact.InlineExecutor;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.table.Tables;

import org.apache.paimon.append.AppendPlans;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DeletionFile;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Ops that ask Java's planners of append tables about files that exist only as metadata. */
public final class AppendPlannerOps {
    private final Tables tables;

    public AppendPlannerOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("append_coordinator", this::coordinator);
        ops.put("append_picks", args -> PlannerOps.each(args, AppendPlannerOps::picks));
        ops.put("append_full", args -> PlannerOps.each(args, AppendPlannerOps::full));
    }

    /** The coordinator takes its options from a table, so all cases of a request are of one table. */
    private Object coordinator(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        List<Object> results = new ArrayList<>();
        for (Args single : args.objects("cases")) {
            FileStoreTable tuned = table.copy(single.textMap("options"));
            List<List<List<DataFileMeta>>> plans = AppendPlans.coordinated(
                    tuned, PlannedFiles.files(single), vectors(single), single.integer("plans", 1));
            results.add(plans.stream()
                    .map(plan -> plan.stream().map(PlannedFiles::names).toList())
                    .toList());
        }
        return results;
    }

    /** A file with a {@code vectorFile} has deleted rows; nobody has counted them if {@code deletedRows} is absent. */
    private static Map<String, DeletionFile> vectors(Args single) {
        Map<String, DeletionFile> vectors = new HashMap<>();
        for (Args file : single.objects("files")) {
            file.findText("vectorFile").ifPresent(index -> vectors.put(
                    file.text("name"),
                    new DeletionFile(index, 1, 1, file.findNumber("deletedRows").orElse(null))));
        }
        return vectors;
    }

    private static Object picks(Args single) {
        Args options = single.objectOrEmpty("options");
        return AppendPlans.picks(
                        PlannedFiles.files(single),
                        options.integer("min_file_num", 5),
                        options.number("target_file_size"),
                        options.number("compaction_file_size"))
                .stream()
                .map(PlannedFiles::names)
                .toList();
    }

    private static Object full(Args single) throws Exception {
        Args options = single.objectOrEmpty("options");
        return PlannedFiles.names(AppendPlans.full(
                new InlineExecutor(),
                PlannedFiles.files(single),
                options.integer("min_file_num", 5),
                options.number("target_file_size"),
                options.number("compaction_file_size"),
                options.flag("force_rewrite_all", false)));
    }
}
