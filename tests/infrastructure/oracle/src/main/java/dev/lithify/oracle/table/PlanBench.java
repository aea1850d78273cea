package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.operation.FileStoreScan;
import org.apache.paimon.table.FileStoreTable;

import com.sun.management.OperatingSystemMXBean;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Times Java's own scan of all live files, or of one partition's, that every batch plan begins with:
 * manifests are read one at a time and nothing is cached. Processor time is that of the whole process, because
 * the scan works in a thread pool, and because compiling and collecting garbage are part of what it takes.
 */
public final class PlanBench implements Op {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final Tables tables;

    public PlanBench(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        long started = SYSTEM.getProcessCpuTime();
        int entries = 0;
        List<Long> nanos = new ArrayList<>();
        List<Long> cpuNanos = new ArrayList<>();
        for (int i = args.integer("repeat", 1); i > 0; i--) {
            long wall = System.nanoTime();
            long cpu = SYSTEM.getProcessCpuTime();
            FileStoreTable table = tables.table(args).copy(Map.of("scan.manifest.parallelism", "1"));
            FileStoreScan scan = table.store().newScan();
            if (args.has("partition")) {
                scan.withPartitionsFilter(List.of(args.textMap("partition")));
            }
            entries = scan.plan().files().size();
            nanos.add(System.nanoTime() - wall);
            cpuNanos.add(SYSTEM.getProcessCpuTime() - cpu);
        }
        return Json.object(
                "entries", entries, "nanos", nanos, "cpu_nanos", cpuNanos, "cpu_nanos_before", started);
    }
}
