package dev.lithify.oracle.values;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.BinaryVector;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeChecks;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VectorType;

import com.fasterxml.jackson.databind.JsonNode;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads values from the JSON forms that {@link ValueText} writes. */
public final class ValueParser {
    private ValueParser() {}

    /** {@code ["+I",1,"a"]} as a row of the type. */
    public static GenericRow rowWithKind(JsonNode json, RowType type) {
        GenericRow row = row(json, type, 1);
        row.setRowKind(RowKind.fromShortString(json.get(0).asText()));
        return row;
    }

    public static GenericRow row(JsonNode json, RowType type) {
        return row(json, type, 0);
    }

    private static GenericRow row(JsonNode json, RowType type, int offset) {
        List<DataType> types = type.getFieldTypes();
        if (!json.isArray() || json.size() != types.size() + offset) {
            throw new IllegalArgumentException("A row of " + types.size() + " values expected"
                    + (offset == 0 ? "" : " after its kind") + ", got " + json);
        }
        GenericRow row = new GenericRow(types.size());
        for (int i = 0; i < types.size(); i++) {
            row.setField(i, value(json.get(i + offset), types.get(i)));
        }
        return row;
    }

    public static Object value(JsonNode json, DataType type) {
        if (json.isNull()) {
            return null;
        }
        try {
            return nonNull(json, type);
        } catch (RuntimeException e) {
            throw new IllegalArgumentException("Not a value of " + type + ": " + json + " (" + e.getMessage() + ")", e);
        }
    }

    private static Object nonNull(JsonNode json, DataType type) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> bool(json);
            case TINYINT -> (byte) integer(json, Byte.MIN_VALUE, Byte.MAX_VALUE);
            case SMALLINT -> (short) integer(json, Short.MIN_VALUE, Short.MAX_VALUE);
            case INTEGER -> (int) integer(json, Integer.MIN_VALUE, Integer.MAX_VALUE);
            case BIGINT -> integer(json, Long.MIN_VALUE, Long.MAX_VALUE);
            case FLOAT -> Float.parseFloat(json.asText());
            case DOUBLE -> Double.parseDouble(json.asText());
            case CHAR, VARCHAR -> BinaryString.fromString(text(json));
            case BINARY, VARBINARY -> Base64.getDecoder().decode(text(json));
            case DECIMAL -> decimal(json, (DecimalType) type);
            case DATE -> (int) LocalDate.parse(text(json)).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE -> json.isIntegralNumber()
                    ? json.intValue()
                    : (int) (LocalTime.parse(text(json)).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    timestamp(LocalDateTime.parse(text(json)), DataTypeChecks.getPrecision(type));
            case VARIANT -> GenericVariant.fromJson(json.toString());
            case ARRAY -> array(json, ((ArrayType) type).getElementType());
            case VECTOR -> vector(array(json, ((VectorType) type).getElementType()), (VectorType) type);
            case MAP -> map(json, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET -> map(json, ((MultisetType) type).getElementType(), new IntType(false));
            case ROW -> row(json, (RowType) type);
            default -> throw new UnsupportedOperationException("The oracle cannot read " + type);
        };
    }

    private static boolean bool(JsonNode json) {
        if (!json.isBoolean()) {
            throw new IllegalArgumentException("true or false expected");
        }
        return json.booleanValue();
    }

    private static String text(JsonNode json) {
        if (!json.isTextual()) {
            throw new IllegalArgumentException("a string expected");
        }
        return json.textValue();
    }

    private static long integer(JsonNode json, long min, long max) {
        if (!json.isIntegralNumber() || !json.canConvertToLong()) {
            throw new IllegalArgumentException("an integer expected");
        }
        long value = json.longValue();
        if (value < min || value > max) {
            throw new IllegalArgumentException("out of range");
        }
        return value;
    }

    private static Decimal decimal(JsonNode json, DecimalType type) {
        BigDecimal value = new BigDecimal(json.asText()).setScale(type.getScale());
        Decimal decimal = Decimal.fromBigDecimal(value, type.getPrecision(), type.getScale());
        if (decimal == null) {
            throw new IllegalArgumentException("too many digits");
        }
        return decimal;
    }

    private static Timestamp timestamp(LocalDateTime value, int precision) {
        long unit = (long) Math.pow(10, 9 - precision);
        if (value.getNano() % unit != 0) {
            throw new IllegalArgumentException("more digits than the precision allows");
        }
        return Timestamp.fromLocalDateTime(value);
    }

    private static GenericArray array(JsonNode json, DataType elementType) {
        Object[] elements = new Object[json.size()];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = value(json.get(i), elementType);
        }
        return new GenericArray(elements);
    }

    /** Of as many elements as there are: Paimon does not hold them against the type, so tests can ask what it does. */
    public static BinaryVector vector(GenericArray elements, VectorType type) {
        return BinaryVector.fromInternalArray(elements, type.getElementType());
    }

    private static GenericMap map(JsonNode json, DataType keyType, DataType valueType) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode pair : json) {
            map.put(value(pair.get(0), keyType), value(pair.get(1), valueType));
        }
        return new GenericMap(map);
    }
}
