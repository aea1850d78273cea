package dev.lithify.mixed;

import dev.lithify.oracle.protocol.Op;
import dev.lithify.oracle.protocol.Server;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * Makes mixed-format tables as Amoro does since 0.5.1, and commits files to them, behind JSON lines on standard
 * input and output. Amoro itself is not on Maven Central, but all that it stores is Iceberg's. Who writes the files
 * is Arctic, in another process. Standard output belongs to the protocol alone.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        FileOutputStream replies = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        new Server(ops(), requests, replies).serve();
        System.exit(0);
    }

    private static Map<String, Op> ops() {
        Map<String, Op> ops = new HashMap<>();
        ops.put("ping", args -> "pong");
        Stores stores = new Stores();
        new StoreOps(stores).register(ops);
        new CommitOps(stores).register(ops);
        return ops;
    }
}
