package dev.lithify.oracle.compact;

import java.lang.reflect.Field;

/** Reads private fields of Paimon's objects, where Paimon offers no other way to see them. */
public final class Peek {
    private Peek() {}

    public static Object field(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(object);
            } catch (NoSuchFieldException e) {
                continue;
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException("No field '" + name + "' in " + object.getClass());
    }
}
