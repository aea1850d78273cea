package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.values.TypeText;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.schema.SchemaChange.Move;
import org.apache.paimon.types.DataType;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.List;
import java.util.Map;

/** Ops that make tables and change their schemas: create_table, alter_table, schema. */
public final class SchemaOps {
    private final Tables tables;

    public SchemaOps(Tables tables) {
        this.tables = tables;
    }

    public void register(Map<String, Op> ops) {
        ops.put("create_table", this::create);
        ops.put("alter_table", this::alter);
        ops.put("schema", this::schema);
    }

    private Object create(Args args) throws Exception {
        Schema.Builder schema = Schema.newBuilder();
        for (Args column : args.objects("columns")) {
            DataType type = TypeText.parse(column.node("type"));
            schema.column(column.text("name"), type, column.findText("comment").orElse(null));
        }
        schema.primaryKey(args.texts("primary_key"));
        schema.partitionKeys(args.texts("partition_keys"));
        schema.options(args.textMap("options"));
        args.findText("comment").ifPresent(schema::comment);

        Catalog catalog = tables.catalog(args);
        Identifier identifier = tables.identifier(args);
        catalog.createDatabase(identifier.getDatabaseName(), true);
        catalog.createTable(identifier, schema.build(), false);
        return Json.object("path", tables.table(args).location().toString());
    }

    private Object alter(Args args) throws Exception {
        List<SchemaChange> changes = args.objects("changes").stream().map(SchemaOps::change).toList();
        tables.catalog(args).alterTable(tables.identifier(args), changes, false);
        return Json.object("schema_id", tables.table(args).schema().id());
    }

    private Object schema(Args args) throws Exception {
        return Json.parse(tables.table(args).schemaManager().latest().orElseThrow().toString());
    }

    /** A change is an object with one field: what to do, and with what. */
    private static SchemaChange change(Args change) {
        if (change.fields().size() != 1) {
            throw new IllegalArgumentException("A change has one field, this has " + change.fields().keySet());
        }
        Map.Entry<String, JsonNode> only = change.fields().entrySet().iterator().next();
        JsonNode value = only.getValue();
        return switch (only.getKey()) {
            case "set_option" -> SchemaChange.setOption(text(value, 0), text(value, 1));
            case "remove_option" -> SchemaChange.removeOption(value.asText());
            case "add_column" -> addColumn(change.object("add_column"));
            case "drop_column" -> SchemaChange.dropColumn(path(value.asText()));
            case "rename_column" -> SchemaChange.renameColumn(path(text(value, 0)), text(value, 1));
            case "update_type" -> SchemaChange.updateColumnType(
                    path(text(value, 0)), TypeText.parse(value.get(1)), false);
            case "update_nullability" -> SchemaChange.updateColumnNullability(
                    path(text(value, 0)), value.get(1).asBoolean());
            case "update_comment" -> SchemaChange.updateColumnComment(text(value, 0), text(value, 1));
            case "move" -> SchemaChange.updateColumnPosition(
                    move(change.object("move"), change.object("move").text("name")));
            default -> throw new IllegalArgumentException("Not a schema change: " + only.getKey());
        };
    }

    private static SchemaChange addColumn(Args column) {
        String name = column.text("name");
        DataType type = TypeText.parse(column.node("type"));
        String[] path = path(name);
        return SchemaChange.addColumn(
                path, type, column.findText("comment").orElse(null), move(column, path[path.length - 1]));
    }

    /** Dots lead to the parts of nested columns; Paimon calls those of arrays and maps element and value. */
    private static String[] path(String name) {
        return name.split("\\.");
    }

    private static Move move(Args place, String name) {
        if (place.flag("first", false)) {
            return Move.first(name);
        }
        return place.findText("after").map(after -> Move.after(name, after)).orElse(null);
    }

    private static String text(JsonNode pair, int index) {
        return pair.get(index).asText();
    }
}
