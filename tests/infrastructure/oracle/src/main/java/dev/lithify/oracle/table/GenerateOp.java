package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.data.GenericRow;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowKind;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SplittableRandom;

/**
 * Writes many rows in several commits without shipping them. The same request on the same table always makes the
 * same rows: every commit has a random source of its own, seeded by the seed and its number.
 */
public final class GenerateOp implements Op {
    private final Tables tables;

    public GenerateOp(Tables tables) {
        this.tables = tables;
    }

    @Override
    public Object run(Args args) throws Exception {
        FileStoreTable table = WriteOps.writeOnly(tables, args);
        long rows = args.number("rows");
        int commits = args.integer("commits", 1);
        Cell[] cells = cells(table, args);
        KeyRange keys = KeyRange.of(args, rows, commits);
        double deletes = args.fraction("delete_ratio", 0);
        SplittableRandom seeds = new SplittableRandom(args.number("seed", 0));

        List<Long> snapshots = new ArrayList<>();
        for (int commit = 0; commit < commits; commit++) {
            SplittableRandom random = seeds.split();
            String user = Commits.user(args);
            long first = rows * commit / commits;
            long end = rows * (commit + 1) / commits;
            try (WriteSession session = new WriteSession(table, user, false)) {
                for (long row = first; row < end; row++) {
                    session.write(row(cells, keys.key(random, commit, row), row, random, deletes), OptionalInt.empty());
                }
                var content = Commits.content(args, session.finish(Commits.identifier(args)));
                snapshots.addAll(Commits.commit(new Commits.Pending(table, user, content, null)));
            }
        }
        return Json.object("snapshots", snapshots);
    }

    private static GenericRow row(Cell[] cells, long key, long number, SplittableRandom random, double deletes) {
        GenericRow row = new GenericRow(cells.length);
        for (int i = 0; i < cells.length; i++) {
            row.setField(i, cells[i].next(random, key, number));
        }
        if (deletes > 0 && random.nextDouble() < deletes) {
            row.setRowKind(RowKind.DELETE);
        }
        return row;
    }

    /** The columns as the request wants them; else partitions and keys follow the key and the rest is random. */
    private static Cell[] cells(FileStoreTable table, Args args) {
        Args specs = args.objectOrEmpty("columns");
        for (String column : specs.fields().keySet()) {
            if (!table.rowType().containsField(column)) {
                throw args.wrong("columns", "columns of " + table.rowType().getFieldNames(), column);
            }
        }
        return table.rowType().getFields().stream()
                .map(field -> Cell.of(field.type(), specs.has(field.name())
                        ? specs.object(field.name())
                        : Args.of("generate.columns", Map.of("kind", usualKind(table, field)))))
                .toArray(Cell[]::new);
    }

    private static String usualKind(FileStoreTable table, DataField field) {
        if (table.partitionKeys().contains(field.name())) {
            return "modulo";
        }
        return table.primaryKeys().contains(field.name()) ? "key" : "random";
    }

    /** Where the keys of the rows come from. */
    private interface KeyRange {
        long key(SplittableRandom random, int commit, long row);

        static KeyRange of(Args args, long rows, int commits) {
            Args key = args.objectOrEmpty("key");
            long start = key.number("start", 0);
            long range = key.number("range", rows);
            String mode = key.findText("mode").orElse("uniform");
            return switch (mode) {
                case "uniform" -> (random, commit, row) -> start + random.nextLong(range);
                case "disjoint" -> (random, commit, row) -> start
                        + random.nextLong(range * commit / commits, range * (commit + 1) / commits);
                case "sequential" -> (random, commit, row) -> start + row;
                default -> throw key.wrong("mode", "uniform, disjoint or sequential", mode);
            };
        }
    }
}
