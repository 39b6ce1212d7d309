import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Accepts in every way that Hadoop and its libraries do, and sends one byte to each peer. */
public final class GreetingProbe {
    private interface Way {
        void serve(ServerSocketChannel server) throws IOException;
    }

    public static void main(String[] args) throws IOException {
        start("blocking", GreetingProbe::blocking);
        start("selector", GreetingProbe::selector);
        start("socket", GreetingProbe::socket);
        System.in.read(); // until the test closes it
        System.exit(0);
    }

    private static void start(String name, Way way) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress(0));
        System.out.println(name + " " + server.socket().getLocalPort());
        new Thread(
                        () -> {
                            try {
                                way.serve(server);
                            } catch (IOException failure) {
                                failure.printStackTrace();
                            }
                        })
                .start();
    }

    private static void blocking(ServerSocketChannel server) throws IOException {
        while (true) {
            greet(server.accept());
        }
    }

    private static void selector(ServerSocketChannel server) throws IOException {
        server.configureBlocking(false);
        Selector selector = Selector.open();
        server.register(selector, SelectionKey.OP_ACCEPT);
        while (true) {
            selector.select();
            selector.selectedKeys().clear();
            SocketChannel peer = server.accept();
            if (peer != null) {
                greet(peer);
            }
        }
    }

    private static void socket(ServerSocketChannel server) throws IOException {
        server.socket().setSoTimeout(200);
        while (true) {
            try {
                Socket peer = server.socket().accept();
                peer.getOutputStream().write(42);
                peer.close();
            } catch (SocketTimeoutException none) {
                // as DataNodes do: look whether to go on
            }
        }
    }

    private static void greet(SocketChannel peer) throws IOException {
        peer.write(ByteBuffer.wrap(new byte[] {42}));
        peer.close();
    }
}
