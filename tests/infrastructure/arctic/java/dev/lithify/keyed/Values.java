package dev.lithify.keyed;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.UUID;

/**
 * Values as JSON, in the forms that the protocol of the oracles has, and as Iceberg's generic records hold them.
 * Timestamps with a zone are given in UTC and without it. Columns of nested types are refused.
 */
public final class Values {
    private Values() {}

    /** A record of the schema from the array of its values. */
    public static Record record(Schema schema, List<JsonNode> values) {
        List<Types.NestedField> columns = schema.columns();
        if (values.size() != columns.size()) {
            throw new IllegalArgumentException(
                    "A row of " + columns.size() + " columns has " + values.size() + " values: " + values);
        }
        Record record = GenericRecord.create(schema);
        for (int i = 0; i < values.size(); i++) {
            record.set(i, fromJson(columns.get(i).type(), values.get(i)));
        }
        return record;
    }

    /** The values of the schema's columns; a record may have more. */
    public static List<Object> json(Schema schema, Record record) {
        List<Types.NestedField> columns = schema.columns();
        List<Object> values = new ArrayList<>(columns.size());
        for (int i = 0; i < columns.size(); i++) {
            values.add(toJson(columns.get(i).type(), record.get(i)));
        }
        return values;
    }

    public static Object fromJson(Type type, JsonNode json) {
        if (json.isNull()) {
            return null;
        }
        return switch (type.typeId()) {
            case BOOLEAN -> json.booleanValue();
            case INTEGER -> Math.toIntExact(json.longValue());
            case LONG -> json.longValue();
            case FLOAT -> json.isTextual() ? Float.parseFloat(json.textValue()) : json.floatValue();
            case DOUBLE -> json.isTextual() ? Double.parseDouble(json.textValue()) : json.doubleValue();
            case STRING -> json.textValue();
            case DATE -> LocalDate.parse(json.textValue());
            case TIME -> LocalTime.parse(json.textValue());
            case TIMESTAMP -> timestamp((Types.TimestampType) type, LocalDateTime.parse(json.textValue()));
            case DECIMAL -> new BigDecimal(json.textValue()).setScale(((Types.DecimalType) type).scale());
            case UUID -> UUID.fromString(json.textValue());
            case FIXED -> Base64.getDecoder().decode(json.textValue());
            case BINARY -> ByteBuffer.wrap(Base64.getDecoder().decode(json.textValue()));
            default -> throw new IllegalArgumentException("Values of type " + type + " have no JSON");
        };
    }

    public static Object toJson(Type type, Object value) {
        if (value == null) {
            return null;
        }
        return switch (type.typeId()) {
            case BOOLEAN, INTEGER, LONG -> value;
            case FLOAT, DOUBLE -> number(((Number) value).doubleValue());
            case STRING, DATE, UUID -> value.toString();
            case TIME -> time((LocalTime) value);
            case TIMESTAMP -> timestampText(value);
            case DECIMAL -> ((BigDecimal) value).toPlainString();
            case FIXED -> Base64.getEncoder().encodeToString((byte[]) value);
            case BINARY -> Base64.getEncoder().encodeToString(bytes((ByteBuffer) value));
            default -> throw new IllegalArgumentException("Values of type " + type + " have no JSON");
        };
    }

    private static Object timestamp(Types.TimestampType type, LocalDateTime local) {
        return type.shouldAdjustToUTC() ? local.atOffset(ZoneOffset.UTC) : local;
    }

    private static String timestampText(Object value) {
        LocalDateTime local = value instanceof LocalDateTime plain
                ? plain
                : ((java.time.OffsetDateTime) value).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime();
        return local.toLocalDate() + "T" + time(local.toLocalTime());
    }

    /** Seconds are always there, fractions without trailing zeros. */
    private static String time(LocalTime time) {
        String seconds = String.format("%02d:%02d:%02d", time.getHour(), time.getMinute(), time.getSecond());
        if (time.getNano() == 0) {
            return seconds;
        }
        return seconds + "." + String.format("%09d", time.getNano()).replaceAll("0+$", "");
    }

    private static Object number(double value) {
        boolean hasJson = Double.isFinite(value) && Double.doubleToRawLongBits(value) != Long.MIN_VALUE;
        return hasJson ? value : (Object) Double.toString(value);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
