package dev.lithify.oracle.values;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Column types as tests write them: {@code "DECIMAL(10, 2) NOT NULL"}, {@code "MAP<INT, ARRAY<STRING>>"},
 * {@code "ROW<a INT, b STRING NOT NULL>"}, {@code "VECTOR<FLOAT, 3>"}. Paimon's own parser reads atomic types and its JSON form; only the
 * angle brackets are taken apart here. Field ids inside rows count from 0, the schema assigns the real ones.
 */
public final class TypeText {
    private static final String NOT_NULL = "NOT NULL";

    private TypeText() {}

    public static DataType parse(JsonNode type) {
        return type.isTextual() ? parse(type.textValue()) : parseJson(type.toString());
    }

    /** Paimon's parser wants the nodes of the Jackson inside its bundle. */
    private static DataType parseJson(String type) {
        try {
            return DataTypeJsonParser.parseDataType(new ObjectMapper().readTree(type));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("Not a type: " + type, e);
        }
    }

    public static DataType parse(String text) {
        String type = text.strip();
        int open = type.indexOf('<');
        if (open < 0) {
            return DataTypeJsonParser.parseAtomicTypeSQLString(type);
        }
        int close = type.lastIndexOf('>');
        String suffix = type.substring(close + 1).strip().toUpperCase(Locale.ROOT);
        if (close < open || !(suffix.isEmpty() || suffix.equals(NOT_NULL))) {
            throw new IllegalArgumentException("Not a type: " + text);
        }
        List<String> inner = splitAtTopLevel(type.substring(open + 1, close));
        boolean nullable = suffix.isEmpty();
        return switch (type.substring(0, open).strip().toUpperCase(Locale.ROOT)) {
            case "ARRAY" -> new ArrayType(nullable, parse(only(inner, text)));
            case "MULTISET" -> new MultisetType(nullable, parse(only(inner, text)));
            case "MAP" -> mapOf(nullable, inner, text);
            case "VECTOR" -> vectorOf(nullable, inner, text);
            case "ROW" -> rowOf(nullable, inner, text);
            default -> throw new IllegalArgumentException("Not a type: " + text);
        };
    }

    private static String only(List<String> inner, String text) {
        if (inner.size() != 1) {
            throw new IllegalArgumentException("One element type expected: " + text);
        }
        return inner.get(0);
    }

    private static DataType mapOf(boolean nullable, List<String> inner, String text) {
        if (inner.size() != 2) {
            throw new IllegalArgumentException("A key and a value type expected: " + text);
        }
        return new MapType(nullable, parse(inner.get(0)), parse(inner.get(1)));
    }

    private static DataType vectorOf(boolean nullable, List<String> inner, String text) {
        if (inner.size() != 2) {
            throw new IllegalArgumentException("An element type and a length expected: " + text);
        }
        return new VectorType(nullable, Integer.parseInt(inner.get(1).strip()), parse(inner.get(0)));
    }

    private static DataType rowOf(boolean nullable, List<String> inner, String text) {
        List<DataField> fields = new ArrayList<>();
        for (String field : inner) {
            String[] nameAndType = field.strip().split("\\s+", 2);
            if (nameAndType.length != 2) {
                throw new IllegalArgumentException("'name TYPE' expected, got '" + field + "' in " + text);
            }
            fields.add(new DataField(fields.size(), nameAndType[0], parse(nameAndType[1])));
        }
        return new RowType(nullable, fields);
    }

    private static List<String> splitAtTopLevel(String text) {
        List<String> parts = new ArrayList<>();
        int depth = 0;
        int start = 0;
        for (int i = 0; i < text.length(); i++) {
            switch (text.charAt(i)) {
                case '<', '(' -> depth++;
                case '>', ')' -> depth--;
                case ',' -> {
                    if (depth == 0) {
                        parts.add(text.substring(start, i));
                        start = i + 1;
                    }
                }
                default -> {}
            }
        }
        parts.add(text.substring(start));
        return parts;
    }
}
