package sun.nio.ch;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.spi.SelectorProvider;

/** The platform's server channel, bound to one host where it was to be bound to all interfaces. */
final class LoopbackServerSocketChannel extends ServerSocketChannelImpl {
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
}
