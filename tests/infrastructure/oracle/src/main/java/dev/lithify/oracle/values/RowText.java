package dev.lithify.oracle.values;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

import java.util.List;

/** Writes rows of one type as canonical JSON arrays, with or without the row kind in front. */
public final class RowText {
    private final ValueText[] fields;

    public RowText(RowType type) {
        this(type.getFieldTypes());
    }

    public RowText(List<DataType> types) {
        this.fields = types.stream().map(ValueText::of).toArray(ValueText[]::new);
    }

    public void append(StringBuilder out, InternalRow row) {
        out.append('[');
        appendFields(out, row, "");
        out.append(']');
    }

    public String text(InternalRow row) {
        StringBuilder out = new StringBuilder();
        append(out, row);
        return out.toString();
    }

    /** {@code ["+I",1,"a"]} */
    public String textWithKind(InternalRow row) {
        return textWithKind(row, row.getRowKind());
    }

    public String textWithKind(InternalRow row, RowKind kind) {
        StringBuilder out = new StringBuilder();
        out.append("[\"").append(kind.shortString()).append('"');
        appendFields(out, row, ",");
        return out.append(']').toString();
    }

    private void appendFields(StringBuilder out, InternalRow row, String separator) {
        String before = separator;
        for (int i = 0; i < fields.length; i++) {
            out.append(before);
            fields[i].append(out, row, i);
            before = ",";
        }
    }
}
