package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;

import org.apache.paimon.Snapshot;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.utils.SnapshotManager;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Commits messages with Paimon's own committer, at once or later: the later ones wait here under a token. */
public final class Commits {
    /** Everything that one commit needs. A null overwrite means that nothing is overwritten. */
    public record Pending(
            FileStoreTable table, String user, ManifestCommittable content, Map<String, String> overwrite) {}

    private final Map<String, Pending> held = new HashMap<>();

    /** The user of a request, a fresh one unless it is given. */
    public static String user(Args args) {
        return args.findText("commit_user").orElseGet(() -> "oracle-" + UUID.randomUUID());
    }

    public static long identifier(Args args) {
        return args.number("commit_identifier", BatchWriteBuilder.COMMIT_IDENTIFIER);
    }

    /** The messages with the watermark and the snapshot properties that a request asks for. */
    public static ManifestCommittable content(Args args, List<CommitMessage> messages) {
        ManifestCommittable content = new ManifestCommittable(
                identifier(args), args.findNumber("watermark").orElse(null), new ArrayList<>(messages));
        args.textMap("properties").forEach(content::addProperty);
        return content;
    }

    public String hold(Pending pending) {
        String token = UUID.randomUUID().toString();
        held.put(token, pending);
        return token;
    }

    /** The held commit, which stays held until {@link #forget}: a refused commit may be tried again. */
    public Pending held(String token) {
        Pending pending = held.get(token);
        if (pending == null) {
            throw new IllegalArgumentException("No prepared commit under the token " + token);
        }
        return pending;
    }

    public void forget(String token) {
        held.remove(token);
    }

    /** Commits and returns the ids of the snapshots that came of it, none if there was nothing to commit. */
    public static List<Long> commit(Pending pending) throws Exception {
        SnapshotManager snapshots = pending.table().snapshotManager();
        long before = latestId(snapshots);
        try (TableCommitImpl commit = pending.table().newCommit(pending.user())) {
            commit.withOverwrite(pending.overwrite()).commit(pending.content());
        }
        List<Long> ids = new ArrayList<>();
        for (long id = before + 1; id <= latestId(snapshots); id++) {
            Snapshot snapshot = snapshots.snapshot(id);
            if (snapshot.commitUser().equals(pending.user())
                    && snapshot.commitIdentifier() == pending.content().identifier()) {
                ids.add(id);
            }
        }
        return ids;
    }

    private static long latestId(SnapshotManager snapshots) {
        Long latest = snapshots.latestSnapshotIdFromFileSystem();
        return latest == null ? Snapshot.FIRST_SNAPSHOT_ID - 1 : latest;
    }
}
