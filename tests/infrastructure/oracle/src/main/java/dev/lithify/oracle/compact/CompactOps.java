package dev.lithify.oracle.compact;

import dev.lithify.oracle.compact.DedicatedCompaction.Bucket;
import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.table.Commits;
import dev.lithify.oracle.table.FileDescriber;
import dev.lithify.oracle.table.Selection;
import dev.lithify.oracle.table.Tables;

import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Ops that let Java compact: compact as its dedicated compaction does, bench_compact with clocks, manager_round
 * for one single round of the real compaction manager. All of them can stop before the commit.
 */
public final class CompactOps {
    private final Tables tables;
    private final Commits commits;

    public CompactOps(Tables tables, Commits commits) {
        this.tables = tables;
        this.commits = commits;
    }

    public void register(Map<String, Op> ops) {
        ops.put("compact", this::compact);
        ops.put("bench_compact", this::bench);
        ops.put("manager_round", this::round);
    }

    /** The table as a compaction job sees it. */
    private FileStoreTable compacting(Args args) throws Exception {
        return tables.table(args).copy(Map.of("write-only", "false"));
    }

    private Object compact(Args args) throws Exception {
        FileStoreTable table = compacting(args);
        String user = Commits.user(args);
        DedicatedCompaction.Outcome outcome = DedicatedCompaction.of(table, user, args).run();
        Map<String, Object> result = Json.object("buckets", describe(table, outcome.messages()));
        result.putAll(conclude(args, table, user, outcome.messages()));
        return result;
    }

    private Object bench(Args args) throws Exception {
        FileStoreTable table = compacting(args);
        String user = Commits.user(args);
        long start = System.nanoTime();
        DedicatedCompaction.Outcome outcome = DedicatedCompaction.of(table, user, args).run();
        long total = System.nanoTime() - start;
        List<DataFileMeta> before = new ArrayList<>();
        List<DataFileMeta> after = new ArrayList<>();
        for (CommitMessage message : outcome.messages()) {
            before.addAll(((CommitMessageImpl) message).compactIncrement().compactBefore());
            after.addAll(((CommitMessageImpl) message).compactIncrement().compactAfter());
        }
        Map<String, Object> result = Json.object(
                "total_nanos", total,
                "rewrite_nanos", outcome.runs().stream().mapToLong(InlineExecutor.Run::wallNanos).sum(),
                "rewrite_cpu_nanos", outcome.runs().stream().mapToLong(InlineExecutor.Run::cpuNanos).sum(),
                "rounds", outcome.runs().size(),
                "input", totals(before),
                "output", totals(after));
        result.putAll(conclude(args, table, user, outcome.messages()));
        return result;
    }

    private Object round(Args args) throws Exception {
        FileStoreTable table = compacting(args);
        String user = Commits.user(args);
        Selection selection = new Selection(table.schema().logicalPartitionType(), args);
        List<Bucket> buckets = DedicatedCompaction.buckets(table, selection);
        FileDescriber describer = new FileDescriber(table);
        List<Object> described = new ArrayList<>();
        List<CommitMessage> messages = new ArrayList<>();
        for (ManagerRound.Outcome outcome : ManagerRound.run(table, user, buckets, args.flag("full", false))) {
            CommitMessageImpl message = outcome.message();
            Map<String, Object> bucket = Json.object(
                    "partition", describer.partition(outcome.bucket().partition()),
                    "bucket", outcome.bucket().bucket(),
                    "picked", message != null,
                    "output_level", outcome.outputLevel(),
                    "drop_delete", outcome.dropDelete());
            if (message == null) {
                bucket.putAll(Json.object(
                        "before", List.of(), "after", List.of(), "changelog", List.of(), "upgraded", List.of()));
            } else {
                messages.add(message);
                bucket.putAll(changes(describer, message));
                bucket.put("upgraded", upgraded(message));
            }
            described.add(bucket);
        }
        Map<String, Object> result = Json.object("buckets", described);
        result.putAll(conclude(args, table, user, messages));
        return result;
    }

    /** The names of the files that changed their level and nothing else. */
    private static List<String> upgraded(CommitMessageImpl message) {
        Set<String> before = message.compactIncrement().compactBefore().stream()
                .map(DataFileMeta::fileName)
                .collect(Collectors.toSet());
        return message.compactIncrement().compactAfter().stream()
                .map(DataFileMeta::fileName)
                .filter(before::contains)
                .toList();
    }

    private static Object totals(List<DataFileMeta> files) {
        return Json.object(
                "files", files.size(),
                "bytes", files.stream().mapToLong(DataFileMeta::fileSize).sum(),
                "rows", files.stream().mapToLong(DataFileMeta::rowCount).sum());
    }

    private static Object describe(FileStoreTable table, List<CommitMessage> messages) {
        FileDescriber describer = new FileDescriber(table);
        List<Object> buckets = new ArrayList<>();
        for (CommitMessage message : messages) {
            CommitMessageImpl part = (CommitMessageImpl) message;
            Map<String, Object> bucket =
                    Json.object("partition", describer.partition(part.partition()), "bucket", part.bucket());
            bucket.putAll(changes(describer, part));
            buckets.add(bucket);
        }
        return buckets;
    }

    private static Map<String, Object> changes(FileDescriber describer, CommitMessageImpl message) {
        CompactIncrement increment = message.compactIncrement();
        return Json.object(
                "before", describer.describe(message, increment.compactBefore()),
                "after", describer.describe(message, increment.compactAfter()),
                "changelog", describer.describe(message, increment.changelogFiles()));
    }

    /** Commits, or holds the commit under a token when the request says {@code "commit": false}. */
    private Map<String, Object> conclude(Args args, FileStoreTable table, String user, List<CommitMessage> messages)
            throws Exception {
        Commits.Pending pending = new Commits.Pending(table, user, Commits.content(args, messages), null);
        return args.flag("commit", true)
                ? Json.object("snapshots", Commits.commit(pending), "token", null)
                : Json.object("snapshots", List.of(), "token", commits.hold(pending));
    }
}
