package io.windtunnel;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.InetAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import java.nio.channels.Channel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Objects;
import sun.nio.ch.DefaultSelectorProvider;

/**
 * The platform's channels, but one: a server that would listen on every interface listens on the
 * address in the system property {@code windtunnel.bind} (a name or an address, 127.0.0.1 unless
 * set).
 *
 * <p>Chosen with {@code -Djava.nio.channels.spi.SelectorProvider}; needs
 * {@code --add-opens=java.base/sun.nio.ch=ALL-UNNAMED}. Where it cannot keep its promise it throws
 * and does not listen at all.
 */
public final class LoopbackSelectorProvider extends SelectorProvider {
    // Selectors take no channel from outside sun.nio.ch, so its class is defined there, from
    // bytes that have a name under which no class loader looks for a class.
    private static final String CHANNEL = "LoopbackServerSocketChannel.bytes";

    private final SelectorProvider platform = DefaultSelectorProvider.get();
    private MethodHandle constructor;

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        return open(null);
    }

    @Override
    public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
        if (family == StandardProtocolFamily.UNIX) {
            return platform.openServerSocketChannel(family);
        }
        return open(Objects.requireNonNull(family));
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return platform.openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return platform.openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return platform.openPipe();
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        return platform.openSelector();
    }

    @Override
    public SocketChannel openSocketChannel() throws IOException {
        return platform.openSocketChannel();
    }

    @Override
    public SocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
        return platform.openSocketChannel(family);
    }

    @Override
    public Channel inheritedChannel() throws IOException {
        return platform.inheritedChannel();
    }

    /** A channel of the platform's class, or of the address family if there is one. */
    private ServerSocketChannel open(ProtocolFamily family) throws IOException {
        InetAddress host = InetAddress.getByName(System.getProperty("windtunnel.bind", "127.0.0.1"));
        if (host.isAnyLocalAddress()) {
            throw new IOException("windtunnel.bind is " + host + ": every interface");
        }
        try {
            // The platform stays the provider of its channels, and of those that are accepted.
            return (ServerSocketChannel) constructor().invoke(platform, family, host);
        } catch (IOException | RuntimeException | Error failure) {
            throw failure;
        } catch (Throwable failure) {
            throw new IOException("cannot listen on " + host + " alone", failure);
        }
    }

    private synchronized MethodHandle constructor() throws IOException, ReflectiveOperationException {
        if (constructor == null) {
            MethodHandles.Lookup inside =
                    MethodHandles.privateLookupIn(DefaultSelectorProvider.class, MethodHandles.lookup());
            Class<?> channel;
            try (InputStream bytes = LoopbackSelectorProvider.class.getResourceAsStream(CHANNEL)) {
                channel = inside.defineClass(bytes.readAllBytes());
            }
            constructor =
                    inside.findConstructor(
                            channel,
                            MethodType.methodType(
                                    void.class,
                                    SelectorProvider.class,
                                    ProtocolFamily.class,
                                    InetAddress.class));
        }
        return constructor;
    }
}
