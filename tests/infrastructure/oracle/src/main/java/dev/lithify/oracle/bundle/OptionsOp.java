package dev.lithify.oracle.bundle;

import dev.lithify.oracle.protocol.Args;
import dev.lithify.oracle.protocol.Json;
import dev.lithify.oracle.protocol.Op;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.fileindex.FileIndexOptions;
import org.apache.paimon.mergetree.compact.PartialUpdateMergeFunction;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.FallbackKey;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Every option that any class of the bundle declares, found by looking through the whole jar. */
public final class OptionsOp implements Op {
    private static final String PAIMON = "org/apache/paimon/";
    private static final String SHADED = "org/apache/paimon/shade/";
    private static final String CLASS = ".class";
    /** What the bytes of a class contain that has a field of this type. */
    private static final String DESCRIPTOR = ConfigOption.class.descriptorString();

    @Override
    public Object run(Args args) throws Exception {
        List<Object> options = new ArrayList<>();
        List<String> unreadable = new ArrayList<>();
        Path bundle = Path.of(CoreOptions.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        try (JarFile jar = new JarFile(bundle.toFile())) {
            for (JarEntry entry : jar.stream().toList()) {
                if (isOwn(entry.getName()) && mentionsOptions(jar, entry)) {
                    try {
                        addOptions(className(entry), options);
                    } catch (LinkageError missingLibrary) {
                        unreadable.add(className(entry));
                    }
                }
            }
        }
        return Json.object("options", options, "constants", constants(), "unreadable", unreadable);
    }

    private static boolean isOwn(String name) {
        return name.startsWith(PAIMON) && !name.startsWith(SHADED) && name.endsWith(CLASS);
    }

    private static boolean mentionsOptions(JarFile jar, JarEntry entry) throws IOException {
        try (InputStream bytes = jar.getInputStream(entry)) {
            return new String(bytes.readAllBytes(), StandardCharsets.ISO_8859_1).contains(DESCRIPTOR);
        }
    }

    private static String className(JarEntry entry) {
        return entry.getName().replace('/', '.').substring(0, entry.getName().length() - CLASS.length());
    }

    private static void addOptions(String className, List<Object> options) throws ReflectiveOperationException {
        for (Field field : Class.forName(className).getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == ConfigOption.class) {
                field.setAccessible(true);
                options.add(describe((ConfigOption<?>) field.get(null), field));
            }
        }
    }

    private static Object describe(ConfigOption<?> option, Field field) {
        List<String> fallbacks = new ArrayList<>();
        for (FallbackKey fallback : option.fallbackKeys()) {
            fallbacks.add(fallback.getKey());
        }
        return Json.object(
                "key", option.key(),
                "default", option.hasDefaultValue() ? option.defaultValue().toString() : null,
                "type", ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0].getTypeName(),
                "fallback_keys", fallbacks,
                "declared_by", field.getDeclaringClass().getName(),
                "field", field.getName());
    }

    /** The plain strings from which keys are built that name a column, such as fields.f.aggregate-function. */
    private static Map<String, String> constants() throws ReflectiveOperationException {
        Map<String, String> constants = new TreeMap<>();
        for (Class<?> owner : List.of(CoreOptions.class, FileIndexOptions.class, PartialUpdateMergeFunction.class)) {
            for (Field field : owner.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == String.class) {
                    field.setAccessible(true);
                    constants.put(owner.getSimpleName() + "." + field.getName(), (String) field.get(null));
                }
            }
        }
        return constants;
    }
}
