import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Opens servers in every way that Hadoop and its libraries do, and says where they listen. */
public final class ListeningProbe {
    public static void main(String[] args) throws IOException {
        InetSocketAddress any = new InetSocketAddress(0);
        tell("wildcard", ServerSocketChannel.open().bind(any));
        tell("null", ServerSocketChannel.open().bind(null));
        tell("IPv4", ServerSocketChannel.open(StandardProtocolFamily.INET).bind(any));
        ServerSocketChannel socket = ServerSocketChannel.open();
        socket.socket().bind(new InetSocketAddress("0.0.0.0", 0), 7);
        tell("socket", socket);
        tell("named", ServerSocketChannel.open().bind(new InetSocketAddress("127.0.0.1", 0)));
        ServerSocketChannel.open(StandardProtocolFamily.UNIX).close();

        ServerSocketChannel before = ServerSocketChannel.open().bind(any);
        int port = before.socket().getLocalPort();
        before.close();
        try (ServerSocketChannel same = ServerSocketChannel.open().bind(new InetSocketAddress(port))) {
            System.out.println("port " + (same.socket().getLocalPort() == port ? "kept" : "changed"));
        }
        System.out.println("byte " + byteThroughSelectors());

        System.setProperty("windtunnel.bind", "0.0.0.0");
        try {
            tell("unbound", ServerSocketChannel.open().bind(any));
        } catch (IOException refusal) {
            System.out.println("unbound refused");
        }
    }

    /** Selectors take the channel, and the channels that it accepts. */
    private static int byteThroughSelectors() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open();
                Selector first = Selector.open();
                Selector second = server.provider().openSelector()) {
            server.bind(new InetSocketAddress(0)).configureBlocking(false);
            server.register(first, SelectionKey.OP_ACCEPT);
            try (SocketChannel client = SocketChannel.open(server.getLocalAddress())) {
                first.select(10_000);
                try (SocketChannel accepted = server.accept()) {
                    client.write(ByteBuffer.wrap(new byte[] {42}));
                    accepted.configureBlocking(false);
                    accepted.register(second, SelectionKey.OP_READ);
                    second.select(10_000);
                    ByteBuffer got = ByteBuffer.allocate(1);
                    accepted.read(got);
                    return got.get(0);
                }
            }
        }
    }

    private static void tell(String way, ServerSocketChannel server) throws IOException {
        InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
        System.out.println(way + " " + address.getAddress().getHostAddress());
        server.close();
    }
}
