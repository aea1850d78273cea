package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.fs.Path;
import org.apache.paimon.operation.CleanOrphanFilesResult;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.operation.PartitionExpire;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.TableCommitImpl;

import java.time.Duration;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;

/** Ops that look after a table: snapshots, tags, branches, partitions, manifests and orphans. */
public final class MaintenanceOps {
    private final Tables tables;

    public MaintenanceOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("expire_snapshots", this::expireSnapshots);
        ops.put("expire_changelogs", this::expireChangelogs);
        ops.put("expire_by_options", this::expireByOptions);
        ops.put("expire_partitions", this::expirePartitions);
        ops.put("manage_tags", this::manageTags);
        ops.put("create_tag", this::createTag);
        ops.put("delete_tag", args -> done(() -> tables.table(args).deleteTag(args.text("tag"))));
        ops.put("create_branch", this::createBranch);
        ops.put("fast_forward", this::fastForward);
        ops.put("drop_branch", this::dropBranch);
        ops.put("rollback_to", this::rollbackTo);
        ops.put("drop_partition", this::dropPartition);
        ops.put("compact_manifests", this::compactManifests);
        ops.put("remove_orphan_files", this::removeOrphanFiles);
    }

    private interface Action {
        void run() throws Exception;
    }

    private static Object done(Action action) throws Exception {
        action.run();
        return null;
    }

    /**
     * What exceeds {@code retain_max} goes, and of the rest what is older than {@code older_than}, if given, but no
     * more than {@code limit}. With {@code changelog_retain_max}, changelogs live on without their snapshots.
     */
    private Object expireSnapshots(Args args) throws Exception {
        ExpireConfig.Builder config = ExpireConfig.builder()
                .snapshotRetainMax(args.integer("retain_max"))
                .snapshotRetainMin(args.integer("retain_min", 1))
                .snapshotMaxDeletes(args.integer("limit", Integer.MAX_VALUE))
                .snapshotTimeRetain(age(args));
        if (args.has("changelog_retain_max")) {
            config.changelogRetainMax(args.integer("changelog_retain_max"));
        }
        int expired = tables.table(args).newExpireSnapshots().config(config.build()).expire();
        return Json.object("expired", expired);
    }

    /** The same of changelogs that have outlived their snapshots. */
    private Object expireChangelogs(Args args) throws Exception {
        ExpireConfig config = ExpireConfig.builder()
                .changelogRetainMax(args.integer("retain_max"))
                .changelogRetainMin(args.integer("retain_min", 1))
                .changelogTimeRetain(age(args))
                .build();
        int expired = tables.table(args).newExpireChangelog().config(config).expire();
        return Json.object("expired", expired);
    }

    /** What a commit does after itself: consumers, then snapshots, then changelogs, by the options of the table. */
    private Object expireByOptions(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        Duration kept = table.coreOptions().consumerExpireTime();
        if (kept != null) {
            table.consumerManager().expire(LocalDateTime.now().minus(kept));
        }
        ExpireConfig config = table.coreOptions().expireConfig();
        table.newExpireSnapshots().config(config).expire();
        if (config.isChangelogDecoupled()) {
            table.newExpireChangelog().config(config).expire();
        }
        return null;
    }

    /** The partitions that expire now by the options of the table, whatever the interval of checks. */
    private Object expirePartitions(Args args) throws Exception {
        FileStoreTable table = tables.table(args)
                .copy(Map.of(CoreOptions.PARTITION_EXPIRATION_CHECK_INTERVAL.key(), "0 s"));
        PartitionExpire expiry = table.store().newPartitionExpire("expiry", table);
        List<Map<String, String>> expired = expiry.expire(Long.MAX_VALUE);
        return Json.object("partitions", expired);
    }

    /** Creates the tags that are due and deletes those that are too old, by the options of the table. */
    private Object manageTags(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return done(() -> table.store().newTagAutoManager(table).run());
    }

    private static Duration age(Args args) {
        return Duration.ofMillis(System.currentTimeMillis() - args.number("older_than", 0));
    }

    private Object createTag(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        String tag = args.text("tag");
        return done(() -> args.findNumber("snapshot_id")
                .ifPresentOrElse(id -> table.createTag(tag, id), () -> table.createTag(tag)));
    }

    private Object createBranch(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        String branch = args.text("branch");
        return done(() -> args.findText("tag")
                .ifPresentOrElse(tag -> table.createBranch(branch, tag), () -> table.createBranch(branch)));
    }

    private Object fastForward(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return done(() -> table.fastForward(args.text("branch")));
    }

    private Object dropBranch(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return done(() -> table.deleteBranch(args.text("branch")));
    }

    private Object rollbackTo(Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return done(() -> args.findText("tag")
                .ifPresentOrElse(table::rollbackTo, () -> table.rollbackTo(args.number("snapshot_id"))));
    }

    private Object dropPartition(Args args) throws Exception {
        List<Map<String, String>> partitions = List.of(args.textMap("partition"));
        try (TableCommitImpl commit = tables.table(args).newCommit(Commits.user(args))) {
            return done(() -> commit.truncatePartitions(partitions));
        }
    }

    private Object compactManifests(Args args) throws Exception {
        try (TableCommitImpl commit = tables.table(args).newCommit(Commits.user(args))) {
            return done(commit::compactManifests);
        }
    }

    private Object removeOrphanFiles(Args args) throws Exception {
        CleanOrphanFilesResult result = new LocalOrphanFilesClean(
                        tables.table(args), args.number("older_than"), args.flag("dry_run", false))
                .clean();
        return Json.object(
                "files", result.getDeletedFilesPath().stream().map(Path::toString).sorted().toList(),
                "bytes", result.getDeletedFileTotalLenInBytes());
    }
}
