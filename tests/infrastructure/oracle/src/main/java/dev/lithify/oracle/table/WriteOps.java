package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Ops that write rows: write, and in two steps prepare and commit_prepared or abort_prepared. A write does not
 * compact unless its options say so.
 */
public final class WriteOps {
    static final Map<String, String> WRITE_ONLY = Map.of("write-only", "true");

    private final Tables tables;
    private final Commits commits;

    public WriteOps(Tables tables, Commits commits) {
        this.tables = tables;
        this.commits = commits;
    }

    public void register(Map<String, Op> ops) {
        ops.put("write", args -> Json.object("snapshots", Commits.commit(write(args))));
        ops.put("prepare", this::prepare);
        ops.put("commit_prepared", this::commitPrepared);
        ops.put("abort_prepared", this::abortPrepared);
    }

    /** The table as a writer sees it: write-only unless the request has another wish. */
    static FileStoreTable writeOnly(Tables tables, Args args) throws Exception {
        FileStoreTable table = tables.table(args);
        return args.textMap("options").containsKey("write-only") ? table : table.copy(WRITE_ONLY);
    }

    private Commits.Pending write(Args args) throws Exception {
        FileStoreTable table = writeOnly(tables, args);
        String user = Commits.user(args);
        Map<String, String> overwrite = args.has("overwrite_partition") ? args.textMap("overwrite_partition") : null;
        List<JsonNode> rows = args.nodes("rows");
        List<JsonNode> buckets = args.nodes("buckets");
        if (!buckets.isEmpty() && buckets.size() != rows.size()) {
            throw args.wrong("buckets", "one bucket per row", buckets.size() + " for " + rows.size() + " rows");
        }
        OptionalInt bucketOfAll = args.has("bucket") ? OptionalInt.of(args.integer("bucket")) : OptionalInt.empty();
        try (WriteSession session = new WriteSession(table, user, overwrite != null)) {
            for (int i = 0; i < rows.size(); i++) {
                OptionalInt bucket = buckets.isEmpty() ? bucketOfAll : OptionalInt.of(buckets.get(i).intValue());
                session.write(ValueParser.rowWithKind(rows.get(i), table.rowType()), bucket);
            }
            List<CommitMessage> messages = session.finish(Commits.identifier(args));
            return new Commits.Pending(table, user, Commits.content(args, messages), overwrite);
        }
    }

    private Object prepare(Args args) throws Exception {
        Commits.Pending pending = write(args);
        FileDescriber describer = new FileDescriber(pending.table());
        List<Object> files = new ArrayList<>();
        for (CommitMessage message : pending.content().fileCommittables()) {
            CommitMessageImpl part = (CommitMessageImpl) message;
            part.newFilesIncrement().newFiles().forEach(file -> files.add(describer.describe(part, file)));
        }
        return Json.object("token", commits.hold(pending), "files", files);
    }

    private Object commitPrepared(Args args) throws Exception {
        String token = args.text("token");
        List<Long> snapshots = Commits.commit(commits.held(token));
        commits.forget(token);
        return Json.object("snapshots", snapshots);
    }

    /**
     * Deletes the new files of a prepared commit. Paimon's own abort would also delete files that are only moved
     * to another level, which are live in the table, so they are taken from the messages before.
     */
    private Object abortPrepared(Args args) throws Exception {
        String token = args.text("token");
        Commits.Pending pending = commits.held(token);
        for (CommitMessage message : pending.content().fileCommittables()) {
            CommitMessageImpl part = (CommitMessageImpl) message;
            Set<String> inputs = part.compactIncrement().compactBefore().stream()
                    .map(file -> file.fileName())
                    .collect(Collectors.toSet());
            part.compactIncrement().compactAfter().removeIf(file -> inputs.contains(file.fileName()));
        }
        try (var commit = pending.table().newCommit(pending.user())) {
            commit.abort(pending.content().fileCommittables());
        }
        commits.forget(token);
        return null;
    }
}
