package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.arrow.ArrowBatchStreamWriter;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;

import scala.jdk.javaapi.CollectionConverters;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The one Spark session, started when it is first asked for: catalogs, SQL, and tables by their names. */
final class Session {
    private SparkSession spark;

    void register(Map<String, Op> ops) {
        ops.put("catalog", this::catalog);
        ops.put("sql", this::sql);
        ops.put("metadata", this::metadata);
        ops.put("versions", args -> Json.object(
                "spark", spark().version(), "iceberg", org.apache.iceberg.IcebergBuild.version()));
    }

    SparkSession spark() {
        if (spark == null) {
            spark = SparkSession.builder().getOrCreate();
        }
        return spark;
    }

    /** A table as it is now: catalogs do not cache. */
    Table table(Args args) throws AnalysisException {
        return Spark3Util.loadIcebergTable(spark(), args.text("table"));
    }

    Dataset<Row> query(String statement) {
        return spark().sql(statement);
    }

    /** The condition of an operation, as the procedures of Iceberg read theirs. */
    Expression where(Args args) throws AnalysisException {
        Optional<String> where = args.findText("where");
        if (where.isEmpty()) {
            return Expressions.alwaysTrue();
        }
        return SparkExpressionConverter.convertToIcebergExpression(
                SparkExpressionConverter.collectResolvedSparkExpression(
                        spark(), args.text("table"), where.get()));
    }

    private Object catalog(Args args) {
        String key = "spark.sql.catalog." + args.text("name");
        spark().conf().set(key, "org.apache.iceberg.spark.SparkCatalog");
        spark().conf().set(key + ".cache-enabled", "false");
        args.textMap("properties").forEach((name, value) -> spark().conf().set(key + "." + name, value));
        return true;
    }

    private Object sql(Args args) throws IOException {
        Dataset<Row> rows = query(args.text("statement"));
        Optional<String> into = args.findText("into");
        if (into.isPresent()) {
            write(rows, Path.of(into.get()));
        }
        return into.isPresent();
    }

    /** Writes rows in their order as an Arrow stream. */
    private static void write(Dataset<Row> rows, Path path) throws IOException {
        List<byte[]> batches = rows.toArrowBatchRdd().toJavaRDD().collect();
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(path))) {
            ArrowBatchStreamWriter writer = new ArrowBatchStreamWriter(rows.schema(), out, "UTC", false, false);
            writer.writeBatches(CollectionConverters.asScala(batches.iterator()));
            writer.end();
        }
    }

    private Object metadata(Args args) throws AnalysisException {
        Table table = table(args);
        TableMetadata current = ((HasTableOperations) table).operations().current();
        Snapshot snapshot = table.currentSnapshot();
        return Json.object(
                "location", current.metadataFileLocation(),
                "snapshot_id", snapshot == null ? null : snapshot.snapshotId(),
                "metadata", Json.raw(TableMetadataParser.toJson(current)));
    }
}
