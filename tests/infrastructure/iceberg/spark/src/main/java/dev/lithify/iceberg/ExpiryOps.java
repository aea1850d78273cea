package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.BaseTable;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.apache.spark.sql.AnalysisException;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** What Java's expiry of snapshots would commit and delete, by the table's properties. Nothing is changed. */
final class ExpiryOps {
    private final Session session;

    ExpiryOps(Session session) {
        this.session = session;
    }

    void register(Map<String, Op> ops) {
        ops.put("plan_expiry", this::planExpiry);
    }

    private Object planExpiry(Args args) throws Exception {
        Uncommitted ops = new Uncommitted(operations(args));
        Set<String> deleted = new ConcurrentSkipListSet<>();
        ExpireSnapshots expiry =
                new BaseTable(ops, args.text("table")).expireSnapshots().deleteWith(deleted::add);
        if (!args.flag("may_be_incremental", true)) {
            Method method = expiry.getClass().getDeclaredMethod("withIncrementalCleanup", boolean.class);
            method.setAccessible(true);
            method.invoke(expiry, false);
        }
        expiry.commit();
        return Json.object(
                "deleted", deleted.stream().toList(),
                "metadata", Json.raw(TableMetadataParser.toJson(ops.current())));
    }

    private TableOperations operations(Args args) throws AnalysisException {
        return ((HasTableOperations) session.table(args)).operations();
    }

    /** A table whose commits stay in memory. */
    private static final class Uncommitted implements TableOperations {
        private final TableOperations real;
        private TableMetadata current;

        Uncommitted(TableOperations real) {
            this.real = real;
            this.current = real.current();
        }

        @Override
        public TableMetadata current() {
            return current;
        }

        @Override
        public TableMetadata refresh() {
            return current;
        }

        @Override
        public void commit(TableMetadata base, TableMetadata metadata) {
            current = metadata;
        }

        @Override
        public FileIO io() {
            return real.io();
        }

        @Override
        public String metadataFileLocation(String fileName) {
            return real.metadataFileLocation(fileName);
        }

        @Override
        public LocationProvider locationProvider() {
            return LocationProviders.locationsFor(current.location(), current.properties());
        }
    }
}
