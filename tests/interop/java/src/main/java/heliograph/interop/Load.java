package heliograph.interop;

import jakarta.jms.BytesMessage;
import jakarta.jms.CompletionListener;
import jakarta.jms.Connection;
import jakarta.jms.DeliveryMode;
import jakarta.jms.Destination;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.qpid.jms.JmsConnectionFactory;

/**
 * One producer and one consumer at a steady rate, as a Java program would do it: "Load URL DESTINATION RATE SECONDS SIZE PERSISTENT
 * TRANSACTION EVERY". With a TRANSACTION of 0 sends are confirmed one by one while others are under way, and every EVERYth message is
 * acknowledged with those before it. Prints "ready" when both are connected; at the end sent, received, 50th and 99th percentile of the
 * latency in milliseconds, and CPU seconds of this process while it ran.
 */
public final class Load {
    private static long[] latencies;

    private static int received;

    private Load() {}

    public static void main(String[] words) throws Exception {
        int rate = Integer.parseInt(words[2]);
        int total = rate * Integer.parseInt(words[3]);
        int transaction = Integer.parseInt(words[6]);
        int every = transaction > 0 ? transaction : Integer.parseInt(words[7]);
        latencies = new long[total];
        try (Connection in = connect(words[0]);
                Connection out = connect(words[0])) {
            int mode = transaction > 0 ? Session.SESSION_TRANSACTED : Session.CLIENT_ACKNOWLEDGE;
            Session session = in.createSession(mode);
            MessageConsumer consumer = session.createConsumer(destination(session, words[1]));
            Thread receiver = new Thread(() -> receive(session, consumer, total, every, transaction > 0));
            receiver.start();
            Session sending = out.createSession(transaction > 0 ? Session.SESSION_TRANSACTED : Session.AUTO_ACKNOWLEDGE);
            MessageProducer producer = sending.createProducer(destination(sending, words[1]));
            producer.setDeliveryMode(Boolean.parseBoolean(words[5]) ? DeliveryMode.PERSISTENT : DeliveryMode.NON_PERSISTENT);
            System.out.println("ready");
            long before = cpu();
            send(sending, producer, total, rate, transaction, new byte[Integer.parseInt(words[4])]);
            receiver.join();
            report(total, (cpu() - before) / 1e9);
        }
        System.exit(0);
    }

    private static Connection connect(String url) throws JMSException {
        Connection connection = new JmsConnectionFactory(url).createConnection();
        connection.start();
        return connection;
    }

    private static Destination destination(Session session, String name) throws JMSException {
        return name.startsWith("topic://")
                ? session.createTopic(name.substring("topic://".length()))
                : session.createQueue(name.substring("queue://".length()));
    }

    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static void send(Session session, MessageProducer producer, int total, int rate, int transaction, byte[] body)
            throws JMSException, InterruptedException {
        AtomicLong confirmed = new AtomicLong();
        CompletionListener listener =
                new CompletionListener() {
                    @Override
                    public void onCompletion(Message message) {
                        confirmed.incrementAndGet();
                    }

                    @Override
                    public void onException(Message message, Exception error) {
                        throw new IllegalStateException(error);
                    }
                };
        long start = System.nanoTime();
        for (int n = 0; n < total; n++) {
            long due = start + (long) (n * 1e9 / rate);
            for (long now = System.nanoTime(); now < due; now = System.nanoTime()) {
                Thread.sleep(0, (int) Math.min(999_999, due - now));
            }
            BytesMessage message = session.createBytesMessage();
            message.writeLong(due);
            message.writeBytes(body, 0, Math.max(0, body.length - Long.BYTES));
            if (transaction == 0) {
                producer.send(message, listener);
            } else {
                producer.send(message);
                if ((n + 1) % transaction == 0 || n == total - 1) {
                    session.commit();
                }
            }
        }
        while (transaction == 0 && confirmed.get() < total) {
            Thread.sleep(1);
        }
    }

    private static void receive(Session session, MessageConsumer consumer, int total, int every, boolean transacted) {
        try {
            while (received < total) {
                BytesMessage message = (BytesMessage) consumer.receive(10_000);
                if (message == null) {
                    return;
                }
                latencies[received++] = System.nanoTime() - message.readLong();
                if (received % every == 0 || received == total) {
                    if (transacted) {
                        session.commit();
                    } else {
                        message.acknowledge();
                    }
                }
            }
        } catch (JMSException error) {
            error.printStackTrace(System.out);
        }
    }

    private static void report(int sent, double cpu) {
        long[] sorted = Arrays.copyOf(latencies, received);
        Arrays.sort(sorted);
        double half = received > 0 ? sorted[received / 2] / 1e6 : Double.NaN;
        double worst = received > 0 ? sorted[Math.min(received - 1, received * 99 / 100)] / 1e6 : Double.NaN;
        System.out.printf(java.util.Locale.ROOT, "result %d %d %.3f %.3f %.3f%n", sent, received, half, worst, cpu);
        System.out.flush();
    }
}
