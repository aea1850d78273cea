package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.VariantType;
import org.apache.paimon.types.VectorType;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Makes the values of one generated column. All but the random strings come down to a number, which the type of
 * the column then gives its form; README.md lists the kinds.
 */
interface Cell {
    /** The value of the row with this number and this key. */
    Object next(SplittableRandom random, long key, long row);

    static Cell of(DataType type, Args spec) {
        Cell cell = ofKind(spec.text("kind"), type, spec);
        double nulls = spec.fraction("nulls", 0);
        return nulls == 0 ? cell : (random, key, row) ->
                random.nextDouble() < nulls ? null : cell.next(random, key, row);
    }

    private static Cell ofKind(String kind, DataType type, Args spec) {
        if (kind.equals("constant")) {
            Object value = ValueParser.value(spec.node("value"), type);
            return (random, key, row) -> value;
        }
        if (kind.equals("random") && Set.of(DataTypeRoot.CHAR, DataTypeRoot.VARCHAR).contains(type.getTypeRoot())) {
            return randomText(spec.integer("min", 8), spec.integer("max", 24));
        }
        if (kind.equals("random") && Set.of(DataTypeRoot.BINARY, DataTypeRoot.VARBINARY).contains(type.getTypeRoot())) {
            return randomBytes(spec.integer("min", 8), spec.integer("max", 24));
        }
        if (kind.equals("nested")) {
            return nested(type, spec.object("of"), spec.integer("items", 1));
        }
        LongFunction<Object> form = form(type, spec.findText("prefix").orElse(""));
        long start = spec.number("start", 0);
        return switch (kind) {
            case "key" -> (random, key, row) -> form.apply(key);
            case "modulo" -> {
                long divisor = spec.number("values", 4);
                yield (random, key, row) -> form.apply(key % divisor);
            }
            case "sequential" -> (random, key, row) -> form.apply(start + row);
            case "low" -> {
                long values = spec.number("values", 16);
                yield (random, key, row) -> form.apply(random.nextLong(values));
            }
            case "random" -> {
                long min = spec.number("min", 0);
                long bound = spec.number("max", largest(type)) + 1;
                yield (random, key, row) -> form.apply(random.nextLong(min, bound));
            }
            default -> throw spec.wrong("kind", "key, modulo, sequential, low, random, nested or constant", kind);
        };
    }

    private static Cell nested(DataType type, Args of, int items) {
        if (type instanceof ArrayType array) {
            Cell element = of(array.getElementType(), of);
            return (random, key, row) -> new GenericArray(
                    IntStream.range(0, items).mapToObj(at -> element.next(random, key, row)).toArray());
        }
        if (type instanceof VectorType vector) {
            Cell elements = nested(new ArrayType(vector.getElementType()), of, vector.getLength());
            return (random, key, row) ->
                    ValueParser.vector((GenericArray) elements.next(random, key, row), vector);
        }
        if (type instanceof RowType record) {
            List<Cell> parts = record.getFieldTypes().stream().map(part -> of(part, of)).toList();
            return (random, key, row) -> GenericRow.of(
                    parts.stream().map(part -> part.next(random, key, row)).toArray());
        }
        if (type instanceof VariantType) {
            Cell part = of(DataTypes.BIGINT(), of);
            return (random, key, row) -> GenericVariant.fromJson(IntStream.range(0, items)
                    .mapToObj(at -> "\"f%d\":%s".formatted(at, part.next(random, key, row)))
                    .collect(Collectors.joining(",", "{", "}")));
        }
        throw new UnsupportedOperationException("The oracle cannot generate a nested " + type);
    }

    private static Cell randomText(int min, int max) {
        return (random, key, row) -> {
            byte[] bytes = new byte[random.nextInt(min, max + 1)];
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) ('a' + random.nextInt(26));
            }
            return BinaryString.fromBytes(bytes);
        };
    }

    private static Cell randomBytes(int min, int max) {
        return (random, key, row) -> {
            byte[] bytes = new byte[random.nextInt(min, max + 1)];
            random.nextBytes(bytes);
            return bytes;
        };
    }

    private static LongFunction<Object> form(DataType type, String prefix) {
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> number -> (number & 1) == 1;
            case TINYINT -> number -> (byte) number;
            case SMALLINT -> number -> (short) number;
            case INTEGER, DATE, TIME_WITHOUT_TIME_ZONE -> number -> (int) number;
            case BIGINT -> number -> number;
            case FLOAT -> number -> number / 8f;
            case DOUBLE -> number -> number / 8d;
            case DECIMAL -> {
                DecimalType decimal = (DecimalType) type;
                yield number -> Decimal.fromBigDecimal(
                        BigDecimal.valueOf(number, decimal.getScale()), decimal.getPrecision(), decimal.getScale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> Timestamp::fromEpochMillis;
            case CHAR, VARCHAR -> number -> BinaryString.fromString(prefix + String.format("%012d", number));
            case BINARY, VARBINARY -> number -> ByteBuffer.allocate(Long.BYTES).putLong(number).array();
            default -> throw new UnsupportedOperationException("The oracle cannot generate " + type);
        };
    }

    /** The largest random number by default, where the type does not allow a million. */
    private static long largest(DataType type) {
        return switch (type.getTypeRoot()) {
            case TINYINT -> Byte.MAX_VALUE;
            case SMALLINT -> Short.MAX_VALUE;
            case DATE -> 20_000;
            case DECIMAL -> (long) Math.pow(10, Math.min(6, ((DecimalType) type).getPrecision())) - 1;
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE -> 1_700_000_000_000L;
            default -> 1_000_000;
        };
    }
}
