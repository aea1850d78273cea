package dev.lithify.oracle.planner;

import dev.lithify.oracle.compact.InlineExecutor;
import dev.lithify.oracle.compact.Peek;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.Levels;
import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.IntervalPartition;
import org.apache.paimon.mergetree.compact.MergeTreeCompactManager;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Ops that ask Java's planner about files that exist only as metadata: levels, sections, pick and manager. */
public final class PlannerOps {
    private static final int NEVER_STOP = Integer.MAX_VALUE;
    private static final String FULL = "full";

    private PlannerOps() {}

    public static void register(Map<String, Op> ops) {
        ops.put("levels", args -> each(args, PlannerOps::levels));
        ops.put("sections", args -> each(args, PlannerOps::sections));
        ops.put("pick", args -> each(args, PlannerOps::pick));
        ops.put("manager", args -> each(args, PlannerOps::manager));
    }

    /** One result per case; the first case that fails fails them all and is named. */
    static Object each(Args args, Op op) {
        List<Object> results = new ArrayList<>();
        for (Args single : args.objects("cases")) {
            try {
                results.add(op.run(single));
            } catch (Exception e) {
                throw new IllegalStateException("case " + results.size() + ": " + e.getMessage(), e);
            }
        }
        return results;
    }

    private static Object levels(Args single) {
        Levels levels = PlannedFiles.levels(single);
        return Json.object(
                "runs", PlannedFiles.describe(levels.levelSortedRuns()),
                "numberOfLevels", levels.numberOfLevels(),
                "nonEmptyHighestLevel", levels.nonEmptyHighestLevel());
    }

    private static Object sections(Args single) {
        return PlannedFiles.describeSections(
                new IntervalPartition(PlannedFiles.files(single), PlannedFiles.KEYS).partition());
    }

    private static Object pick(Args single) {
        int numLevels = single.integer("num_levels", 6);
        List<LevelSortedRun> runs;
        if (single.has("runs")) {
            runs = PlannedFiles.runs(single);
        } else {
            Levels levels = PlannedFiles.levels(single);
            runs = levels.levelSortedRuns();
            numLevels = levels.numberOfLevels();
        }
        Args options = single.objectOrEmpty("options");
        String strategy = single.findText("strategy").orElse("universal");
        Optional<CompactUnit> unit = strategy.equals(FULL)
                ? CompactStrategy.pickFullCompaction(
                        numLevels, runs, null, DeletedRows.of(options), options.flag("force_rewrite_all", false))
                : Strategies.of(strategy, options).pick(numLevels, runs);
        return unit.map(picked -> Json.object(
                        "output_level", picked.outputLevel(),
                        "files", PlannedFiles.names(picked.files()),
                        "file_rewrite", picked.fileRewrite()))
                .orElse(null);
    }

    /** Triggers a real compaction manager once, whose task runs at once into a rewriter that only records. */
    private static Object manager(Args single) throws Exception {
        Args options = single.objectOrEmpty("options");
        InlineExecutor executor = new InlineExecutor();
        RecordingRewriter rewriter = new RecordingRewriter();
        try (MergeTreeCompactManager manager = new MergeTreeCompactManager(
                executor,
                new Levels(PlannedFiles.KEYS, PlannedFiles.files(single), options.integer("num_levels", 6)),
                Strategies.of(single.findText("strategy").orElse("universal"), options),
                PlannedFiles.KEYS,
                options.number("compaction_file_size"),
                NEVER_STOP,
                rewriter,
                null,
                DeletedRows.of(options),
                true,
                single.findText("strategy").orElse("universal").equals("force-up-level-0"),
                null,
                options.flag("force_rewrite_all", false),
                options.flag("force_keep_delete", false))) {
            manager.triggerCompaction(single.flag("full", false));
            manager.getCompactionResult(true);
        }
        if (executor.runs().isEmpty()) {
            return null;
        }
        Object task = executor.runs().get(0).task();
        return Json.object(
                "output_level", Peek.field(task, "outputLevel"),
                "drop_delete", Peek.field(task, "dropDelete"),
                "rewrites", rewriter.rewrites,
                "upgrades", rewriter.upgrades);
    }
}
