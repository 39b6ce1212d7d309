package sun.nio.ch;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The platform's server channel, bound to one host where it was to be bound to all interfaces.
 *
 * <p>With the system property {@code windtunnel.user}, a user id, it accepts connections of the
 * processes of this user and of root alone, and closes all others unread. Linux lists the sockets of the machine with
 * their owners (proc_pid_net(5)).
 */
final class LoopbackServerSocketChannel extends ServerSocketChannelImpl {
    private static final String USER = System.getProperty("windtunnel.user", "");
    private static final int LOCAL = 1, REMOTE = 2, OWNER = 7, INODE = 9; // fields of /proc/net/tcp
    private static final String ROOT = "0"; // the runner, if the daemons have another account
    private static final String NO_INODE = "0"; // nobody holds the socket any more
    private static final String MAPPED = "0000000000000000FFFF0000"; // IPv4 in IPv6, as it is listed

    private final InetAddress host;

    LoopbackServerSocketChannel(SelectorProvider provider, ProtocolFamily family, InetAddress host)
            throws IOException {
        super(provider, family != null ? family : familyOfTheMachine());
        this.host = host;
    }

    private static ProtocolFamily familyOfTheMachine() {
        return Net.isIPv6Available() ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET;
    }

    @Override
    public ServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
        if (local == null) { // the contract of bind: any free port of the wildcard address
            return super.bind(new InetSocketAddress(host, 0), backlog);
        }
        if (local instanceof InetSocketAddress) {
            InetSocketAddress wanted = (InetSocketAddress) local;
            if (!wanted.isUnresolved() && wanted.getAddress().isAnyLocalAddress()) {
                return super.bind(new InetSocketAddress(host, wanted.getPort()), backlog);
            }
        }
        return super.bind(local, backlog);
    }

    @Override
    public SocketChannel accept() throws IOException {
        while (true) {
            SocketChannel peer = super.accept();
            if (peer == null || permitted(peer)) {
                return peer;
            }
            if (!isBlocking()) {
                return null;
            }
        }
    }

    /** What {@code socket().accept()} calls where it has a time limit. */
    @Override
    SocketChannel blockingAccept(long nanos) throws IOException {
        long end = System.nanoTime() + nanos;
        while (true) {
            SocketChannel peer = super.blockingAccept(Math.max(end - System.nanoTime(), 1));
            if (peer == null || permitted(peer)) {
                return peer;
            }
        }
    }

    /** Whether a peer may stay; one that may not is closed. */
    private static boolean permitted(SocketChannel peer) throws IOException {
        if (USER.isEmpty()) {
            return true;
        }
        boolean ours = false;
        try {
            ours = belongsToUser(peer);
        } catch (IOException | RuntimeException unknown) {
            // it has closed, or the list cannot be read: not known to be ours
        }
        if (!ours) {
            peer.close();
        }
        return ours;
    }

    /** Whether the socket at the peer's end is held by a process of the user or of root. */
    private static boolean belongsToUser(SocketChannel peer) throws IOException {
        String theirs = listed((InetSocketAddress) peer.getRemoteAddress());
        String mine = listed((InetSocketAddress) peer.getLocalAddress());
        for (String list : new String[] {"tcp6", "tcp"}) {
            Path path = Path.of("/proc/self/net/" + list);
            if (!Files.exists(path)) {
                continue;
            }
            for (String line : Files.readAllLines(path)) {
                String[] fields = line.trim().split("\\s+");
                if (fields.length > INODE
                        && same(fields[LOCAL], theirs)
                        && same(fields[REMOTE], mine)
                        && !fields[INODE].equals(NO_INODE)) {
                    return fields[OWNER].equals(USER) || fields[OWNER].equals(ROOT);
                }
            }
        }
        return false;
    }

    private static boolean same(String field, String address) {
        return field.equals(address) || field.equals(MAPPED + address);
    }

    /** An address as the kernel lists it: words of 32 bits in the machine's order, then the port. */
    private static String listed(InetSocketAddress address) {
        byte[] raw = address.getAddress().getAddress();
        boolean little = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
        StringBuilder text = new StringBuilder();
        for (int word = 0; word < raw.length; word += 4) {
            for (int place = 0; place < 4; place++) {
                text.append(String.format("%02X", raw[word + (little ? 3 - place : place)] & 0xff));
            }
        }
        return text.append(String.format(":%04X", address.getPort())).toString();
    }
}
