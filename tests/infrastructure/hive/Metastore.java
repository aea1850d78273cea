import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/**
 * Hive's metastore in one process with its database in memory. Arguments: the port, and the folder of warehouses.
 *
 * <p>Makes the tables of locks, which only Hive's scripts do, and then does what Hive's own main method does.
 */
public final class Metastore {
    private Metastore() {}

    public static void main(String[] args) throws Throwable {
        HiveConf conf = new HiveConf();
        conf.setVar(HiveConf.ConfVars.METASTORECONNECTURLKEY, "jdbc:derby:memory:metastore;create=true");
        conf.setVar(HiveConf.ConfVars.METASTORE_CONNECTION_DRIVER, "org.apache.derby.iapi.jdbc.AutoloadedDriver");
        conf.setVar(HiveConf.ConfVars.METASTORE_CONNECTION_POOLING_TYPE, "hikaricp");
        conf.setBoolVar(HiveConf.ConfVars.METASTORE_AUTO_CREATE_ALL, true);
        conf.setBoolVar(HiveConf.ConfVars.METASTORE_SCHEMA_VERIFICATION, false);
        conf.setVar(HiveConf.ConfVars.METASTOREWAREHOUSE, args[1]);
        TxnDbUtil.prepDb(conf);
        HiveMetaStore.startMetaStore(Integer.parseInt(args[0]), null, conf);
    }
}
