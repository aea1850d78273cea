package dev.lithify.hdfs;

import java.io.File;
import java.nio.file.Files;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.minikdc.MiniKdc;

/**
 * Who may ask the servers, proved by Kerberos. A key distribution centre in the same process knows the servers and a
 * few clients: {@code lithify}, and {@code stranger}, whom HDFS gives no rights.
 *
 * <p>It leaves {@code krb5.conf} and a keytab for each of them in its folder.
 */
final class Kerberos {
    private static final String SERVERS = "hdfs/localhost";

    private Kerberos() {}

    /** Starts it, and has the servers of a configuration ask for it with a protection of Hadoop's. */
    static void start(Configuration conf, File folder, String protection) throws Exception {
        Properties how = MiniKdc.createConf();
        how.setProperty(MiniKdc.ORG_NAME, "LITHIFY");
        how.setProperty(MiniKdc.ORG_DOMAIN, "TEST");
        how.setProperty(MiniKdc.MIN_TICKET_LIFETIME, "1");
        MiniKdc kdc = new MiniKdc(how, folder);
        kdc.start();
        Files.copy(kdc.getKrb5conf().toPath(), new File(folder, "krb5.conf").toPath());
        File keytab = new File(folder, "servers.keytab");
        kdc.createPrincipal(keytab, SERVERS);
        kdc.createPrincipal(new File(folder, "lithify.keytab"), "lithify");
        kdc.createPrincipal(new File(folder, "stranger.keytab"), "stranger");
        String servers = SERVERS + "@" + kdc.getRealm();
        conf.set("hadoop.security.authentication", "kerberos");
        conf.set("hadoop.security.authorization", "true");
        conf.set("hadoop.rpc.protection", protection);
        conf.set("dfs.data.transfer.protection", protection);
        conf.set("dfs.block.access.token.enable", "true");
        conf.set("ignore.secure.ports.for.testing", "true");
        for (String server : new String[] {"namenode", "datanode"}) {
            conf.set("dfs." + server + ".keytab.file", keytab.getPath());
            conf.set("dfs." + server + ".kerberos.principal", servers);
        }
    }
}
