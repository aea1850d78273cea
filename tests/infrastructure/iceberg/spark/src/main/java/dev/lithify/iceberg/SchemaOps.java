package dev.lithify.iceberg;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Op;

import org.apache.iceberg.SingleValueParser;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Type;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.types.DataType;

import java.util.Map;

/** Changes of schemas that Spark's SQL has no words for: columns with defaults. */
final class SchemaOps {
    private final Session session;

    SchemaOps(Session session) {
        this.session = session;
    }

    void register(Map<String, Op> ops) {
        ops.put("add_column", this::addColumn);
    }

    /** The type is Spark's, the default in Iceberg's JSON form: first that of rows before, then another for writes. */
    private Object addColumn(Args args) throws AnalysisException {
        Table table = session.table(args);
        String name = args.text("name");
        Type type = SparkSchemaUtil.convert(DataType.fromDDL(args.text("type")));
        UpdateSchema update = table.updateSchema().addColumn(name, type, null, literal(type, args, "default"));
        if (args.has("write_default")) {
            update.updateColumnDefault(name, literal(type, args, "write_default"));
        }
        update.commit();
        return table.schema().schemaId();
    }

    private static Literal<?> literal(Type type, Args args, String name) {
        return Expressions.lit(SingleValueParser.fromJson(type, args.node(name).toString())).to(type);
    }
}
