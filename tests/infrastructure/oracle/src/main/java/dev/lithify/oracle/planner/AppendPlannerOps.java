package dev.lithify.oracle.planner;

import dev.lithify.oracle.compact.InlineExecutor;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.table.Tables;

import org.apache.paimon.append.AppendPlans;
import org.apache.paimon.table.FileStoreTable;

import java.util.ArrayList;
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
            results.add(AppendPlans.coordinated(tuned, PlannedFiles.files(single), single.integer("plans", 1)).stream()
                    .map(plan -> plan.stream().map(PlannedFiles::names).toList())
                    .toList());
        }
        return results;
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
