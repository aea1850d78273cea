package dev.lithify.mixed;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.DeleteFiles;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.StatisticsFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdateStatistics;
import org.apache.iceberg.events.CreateSnapshotEvent;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Commits of writers and of the optimizer, in the forms that Amoro gives them. */
final class CommitOps {
    private final Stores stores;

    CommitOps(Stores stores) {
        this.stores = stores;
    }

    void register(Map<String, Op> ops) {
        ops.put("begin_transaction", this::beginTransaction);
        ops.put("append", this::append);
        ops.put("delete_positions", this::deletePositions);
        ops.put("overwrite", this::overwrite);
        ops.put("expire_change_files", this::expireChangeFiles);
    }

    /** The sequence number of an empty append to the change store. */
    private Object beginTransaction(Args args) {
        AppendFiles append = stores.change(args).newAppend();
        append.set("tx.begin.signature", args.findText("signature").orElse(""));
        append.commit();
        return ((CreateSnapshotEvent) append.updateEvent()).sequenceNumber();
    }

    private Object append(Args args) {
        Table store = stores.named(args);
        StoreFiles files = new StoreFiles(store);
        AppendFiles append = store.newAppend();
        args.objects("files").forEach(file -> append.appendFile(files.data(file)));
        append.commit();
        return true;
    }

    private Object deletePositions(Args args) {
        Table base = stores.base(args);
        StoreFiles files = new StoreFiles(base);
        RowDelta delta = base.newRowDelta();
        args.objects("files").forEach(file -> delta.addDeletes(files.positions(file)));
        delta.commit();
        return true;
    }

    /**
     * One transaction on base: data files, position deletes, and the line of some partitions, in a file or, as until
     * 0.6.0, in the property. Then a commit drops position deletes, unless Iceberg has dropped them already.
     */
    private Object overwrite(Args args) throws IOException {
        Table base = stores.base(args);
        Transaction transaction = base.newTransaction();
        boolean isProperty = args.flag("as_property", false);
        List<Snapshot> made = files(args, base, transaction, isProperty ? Map.of() : LineFiles.flags());
        if (isProperty) {
            moveProperty(args, base, transaction);
        } else {
            moveFile(args, base, transaction, made);
        }
        transaction.commitTransaction();
        dropDeletes(args, base);
        return true;
    }

    private static List<Snapshot> files(
            Args args, Table base, Transaction transaction, Map<String, String> summary) {
        StoreFiles files = new StoreFiles(base);
        List<Snapshot> made = new ArrayList<>();
        if (!args.nodes("added").isEmpty() || !args.nodes("removed").isEmpty()) {
            OverwriteFiles overwrite = transaction.newOverwrite();
            args.objects("added").forEach(file -> overwrite.addFile(files.data(file)));
            args.objects("removed").forEach(file -> overwrite.deleteFile(files.live(file)));
            made.add(committed(transaction, overwrite, summary));
        }
        if (!args.nodes("added_deletes").isEmpty()) {
            RowDelta delta = transaction.newRowDelta();
            args.objects("added_deletes").forEach(file -> delta.addDeletes(files.positions(file)));
            made.add(committed(transaction, delta, summary));
        }
        return made;
    }

    private static <T> Snapshot committed(
            Transaction transaction, SnapshotUpdate<T> update, Map<String, String> summary) {
        summary.forEach(update::set);
        update.set("snapshot.producer", "OPTIMIZE");
        update.commit();
        CreateSnapshotEvent event = (CreateSnapshotEvent) update.updateEvent();
        return transaction.table().snapshot(event.snapshotId());
    }

    private static void moveFile(Args args, Table base, Transaction transaction, List<Snapshot> made)
            throws IOException {
        if (made.isEmpty()) {
            return;
        }
        Map<String, Long> sequences = new TreeMap<>(LineFiles.sequences(base));
        Map<String, Long> times = new TreeMap<>(LineFiles.times(base));
        long now = System.currentTimeMillis();
        args.objectOrEmpty("line").fields().forEach((path, sequence) -> {
            sequences.put(path, sequence.longValue());
            times.put(path, now);
        });
        UpdateStatistics update = transaction.updateStatistics();
        StatisticsFile first = LineFiles.write(transaction.table(), made.get(0), sequences, times);
        made.forEach(snapshot -> update.setStatistics(snapshot.snapshotId(), LineFiles.copied(first, snapshot)));
        update.commit();
    }

    private static void moveProperty(Args args, Table base, Transaction transaction) throws IOException {
        Map<String, Map<String, String>> partitions = new TreeMap<>(LineFiles.properties(base));
        String now = String.valueOf(System.currentTimeMillis());
        args.objectOrEmpty("line").fields().forEach((path, sequence) -> {
            Map<String, String> held = new TreeMap<>(partitions.getOrDefault(path, Map.of()));
            held.put("max-txId", sequence.asText());
            held.put("base-op-time", now);
            partitions.put(path, held);
        });
        transaction.updateProperties().set(LineFiles.PROPERTY, LineFiles.json(partitions)).commit();
    }

    private static void dropDeletes(Args args, Table base) {
        base.refresh();
        StoreFiles files = new StoreFiles(base);
        List<DeleteFile> live = args.objects("removed_deletes").stream()
                .flatMap(file -> files.liveDelete(file).stream())
                .toList();
        if (!live.isEmpty()) {
            RewriteFiles drop = base.newRewrite();
            drop.set("snapshot.producer", "OPTIMIZE");
            live.forEach(drop::deleteFile);
            drop.commit();
        }
    }

    private Object expireChangeFiles(Args args) {
        DeleteFiles delete = stores.change(args).newDelete();
        args.texts("files").forEach(delete::deleteFile);
        delete.commit();
        return true;
    }
}
