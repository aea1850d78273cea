package dev.lithify.oracle.planner;

import dev.lithify.oracle.compact.Peek;
import dev.lithify.oracle.protocol.Args;

import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.EarlyFullCompactionAt;
import org.apache.paimon.mergetree.compact.ForceUpLevel0Compaction;
import org.apache.paimon.mergetree.compact.OffPeakHours;
import org.apache.paimon.mergetree.compact.UniversalCompaction;

import java.util.concurrent.atomic.AtomicInteger;

/** Builds Paimon's compaction strategies from options, with the time of day and the clock of the request. */
final class Strategies {
    private Strategies() {}

    static CompactStrategy of(String name, Args options) {
        return switch (name) {
            case "universal" -> universal(options);
            case "force-up-level-0" -> forceUpLevel0(options);
            default -> throw new IllegalArgumentException(
                    "No strategy '" + name + "', there are universal, force-up-level-0 and full");
        };
    }

    private static UniversalCompaction universal(Args options) {
        return new UniversalCompaction(
                options.integer("max_size_amp", 200),
                options.integer("size_ratio", 1),
                options.integer("trigger", 5),
                earlyFull(options),
                offPeak(options));
    }

    private static EarlyFullCompactionAt earlyFull(Args options) {
        Long interval = options.findNumber("full_interval_millis").orElse(null);
        Long total = options.findNumber("total_size_threshold").orElse(null);
        Long incremental = options.findNumber("incremental_size_threshold").orElse(null);
        if (interval == null && total == null && incremental == null) {
            return null;
        }
        return new EarlyFullCompactionAt(
                interval,
                total,
                incremental,
                options.findNumber("last_full_millis").orElse(null),
                options.number("now_millis", 0));
    }

    /**
     * Paimon asks the clock of the machine for the hour. Its own class judges the hour of the request here, and
     * what the strategy gets is then the same for every hour: off-peak all day, or never.
     */
    private static OffPeakHours offPeak(Args options) {
        if (!options.has("offpeak")) {
            return null;
        }
        Args offPeak = options.object("offpeak");
        OffPeakHours asked =
                OffPeakHours.create(offPeak.integer("start"), offPeak.integer("end"), offPeak.integer("ratio"));
        int ratio = asked == null ? 0 : asked.currentRatio(offPeak.integer("hour"));
        return OffPeakHours.create(0, 24, ratio);
    }

    /** {@code lookup_count} is how often the strategy was triggered in vain since it last forced level 0 up. */
    private static CompactStrategy forceUpLevel0(Args options) {
        Integer interval = options.findNumber("lookup_interval").map(Math::toIntExact).orElse(null);
        ForceUpLevel0Compaction strategy = new ForceUpLevel0Compaction(universal(options), interval);
        if (interval != null) {
            ((AtomicInteger) Peek.field(strategy, "compactTriggerCount")).set(options.integer("lookup_count", 0));
        }
        return strategy;
    }
}
