package dev.lithify.oracle.values;

import org.apache.paimon.data.DataGetters;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;

import java.time.LocalDate;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.TreeSet;

/**
 * Writes values as canonical JSON text, so that two rows are equal exactly when their texts are. One instance
 * belongs to one type and reads from any row or array. The forms are listed in README.md.
 */
public interface ValueText {
    void append(StringBuilder out, DataGetters data, int pos);

    static ValueText of(DataType type) {
        ValueText text = ofNonNull(type);
        return (out, data, pos) -> {
            if (data.isNullAt(pos)) {
                out.append("null");
            } else {
                text.append(out, data, pos);
            }
        };
    }

    private static ValueText ofNonNull(DataType type) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> (out, data, pos) -> out.append(data.getBoolean(pos));
            case TINYINT -> (out, data, pos) -> out.append(data.getByte(pos));
            case SMALLINT -> (out, data, pos) -> out.append(data.getShort(pos));
            case INTEGER -> (out, data, pos) -> out.append(data.getInt(pos));
            case BIGINT -> (out, data, pos) -> out.append(data.getLong(pos));
            case FLOAT -> (out, data, pos) ->
                    appendFloating(out, Float.toString(data.getFloat(pos)), data.getFloat(pos));
            case DOUBLE -> (out, data, pos) ->
                    appendFloating(out, Double.toString(data.getDouble(pos)), data.getDouble(pos));
            case CHAR, VARCHAR -> (out, data, pos) -> appendString(out, data.getString(pos).toString());
            case BINARY, VARBINARY -> (out, data, pos) ->
                    out.append('"').append(Base64.getEncoder().encodeToString(data.getBinary(pos))).append('"');
            case DECIMAL -> decimal((DecimalType) type);
            case DATE -> (out, data, pos) ->
                    out.append('"').append(LocalDate.ofEpochDay(data.getInt(pos))).append('"');
            case TIME_WITHOUT_TIME_ZONE -> (out, data, pos) -> {
                LocalTime time = LocalTime.ofNanoOfDay(data.getInt(pos) * 1_000_000L);
                out.append('"').append(DateTimeFormatter.ISO_LOCAL_TIME.format(time)).append('"');
            };
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    timestamp(DataTypeChecks.getPrecision(type));
            case VARIANT -> (out, data, pos) -> out.append(data.getVariant(pos).toJson());
            case ARRAY -> {
                ValueText element = of(((ArrayType) type).getElementType());
                yield (out, data, pos) -> appendArray(out, data.getArray(pos), element);
            }
            case VECTOR -> {
                ValueText element = of(((VectorType) type).getElementType());
                yield (out, data, pos) -> appendArray(out, data.getVector(pos), element);
            }
            case MAP -> map(((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET -> map(((MultisetType) type).getElementType(), new IntType(false));
            case ROW -> {
                RowText row = new RowText((RowType) type);
                int arity = ((RowType) type).getFieldCount();
                yield (out, data, pos) -> row.append(out, data.getRow(pos, arity));
            }
            default -> throw new UnsupportedOperationException("The oracle cannot write " + type);
        };
    }

    private static ValueText decimal(DecimalType type) {
        int precision = type.getPrecision();
        int scale = type.getScale();
        return (out, data, pos) -> out.append('"')
                .append(data.getDecimal(pos, precision, scale).toBigDecimal().toPlainString())
                .append('"');
    }

    private static ValueText timestamp(int precision) {
        return (out, data, pos) -> {
            out.append('"');
            DateTimeFormatter.ISO_LOCAL_DATE_TIME.formatTo(
                    data.getTimestamp(pos, precision).toLocalDateTime(), out);
            out.append('"');
        };
    }

    /** A list of pairs in the order of their texts: a map has no order of its own. */
    private static ValueText map(DataType keyType, DataType valueType) {
        ValueText key = of(keyType);
        ValueText value = of(valueType);
        return (out, data, pos) -> {
            InternalMap map = data.getMap(pos);
            InternalArray keys = map.keyArray();
            InternalArray values = map.valueArray();
            TreeSet<String> pairs = new TreeSet<>();
            for (int i = 0; i < map.size(); i++) {
                StringBuilder pair = new StringBuilder("[");
                key.append(pair, keys, i);
                value.append(pair.append(','), values, i);
                pairs.add(pair.append(']').toString());
            }
            out.append('[').append(String.join(",", pairs)).append(']');
        };
    }

    private static void appendArray(StringBuilder out, InternalArray array, ValueText element) {
        out.append('[');
        for (int i = 0; i < array.size(); i++) {
            if (i > 0) {
                out.append(',');
            }
            element.append(out, array, i);
        }
        out.append(']');
    }

    /** JSON has no NaN, no infinities, and readers lose the sign of a zero: these are strings. */
    private static void appendFloating(StringBuilder out, String text, double value) {
        boolean number = Double.isFinite(value) && !text.equals("-0.0");
        if (number) {
            out.append(text);
        } else {
            out.append('"').append(text).append('"');
        }
    }

    /** Escapes what JSON demands and nothing else, as Python's json module does without ensure_ascii. */
    static void appendString(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\b' -> out.append("\\b");
                case '\f' -> out.append("\\f");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
