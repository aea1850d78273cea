package dev.lithify.oracle.table;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.values.ValueParser;

import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.List;

/** Reads predicates on one column: {@code {"column": "c", "op": "less_than", "literal": 7}}. */
final class FilterParser {
    private final RowType rowType;
    private final PredicateBuilder builder;

    FilterParser(RowType rowType) {
        this.rowType = rowType;
        this.builder = new PredicateBuilder(rowType);
    }

    Predicate parse(Args filter) {
        int column = rowType.getFieldIndex(filter.text("column"));
        if (column < 0) {
            throw filter.wrong("column", "one of " + rowType.getFieldNames(), filter.text("column"));
        }
        return switch (filter.text("op")) {
            case "equal" -> builder.equal(column, literal(filter, column));
            case "not_equal" -> builder.notEqual(column, literal(filter, column));
            case "less_than" -> builder.lessThan(column, literal(filter, column));
            case "less_or_equal" -> builder.lessOrEqual(column, literal(filter, column));
            case "greater_than" -> builder.greaterThan(column, literal(filter, column));
            case "greater_or_equal" -> builder.greaterOrEqual(column, literal(filter, column));
            case "is_null" -> builder.isNull(column);
            case "is_not_null" -> builder.isNotNull(column);
            case "in" -> builder.in(column, literals(filter, column));
            case "not_in" -> builder.notIn(column, literals(filter, column));
            case "starts_with" -> builder.startsWith(column, literal(filter, column));
            default -> throw filter.wrong("op", "an operator that README.md lists", filter.text("op"));
        };
    }

    private Object literal(Args filter, int column) {
        return ValueParser.value(filter.node("literal"), rowType.getTypeAt(column));
    }

    private List<Object> literals(Args filter, int column) {
        DataType type = rowType.getTypeAt(column);
        List<Object> values = new ArrayList<>();
        filter.nodes("literals").forEach(literal -> values.add(ValueParser.value(literal, type)));
        return values;
    }
}
