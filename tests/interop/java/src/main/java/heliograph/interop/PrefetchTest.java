package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class PrefetchTest extends Broker {
    private static final int MANY = 2000;

    private MessageConsumer consumer(int prefetch) throws Exception {
        Session session = connection(null, "jms.prefetchPolicy.all=" + prefetch).createSession();
        return session.createConsumer(ownQueue(session));
    }

    private void sendMany() throws Exception {
        String[] texts = new String[MANY];
        for (int n = 0; n < MANY; n++) {
            texts[n] = "n" + n;
        }
        Session session = connection(null, "jms.forceAsyncSend=true").createSession();
        var producer = session.createProducer(ownQueue(session));
        for (String text : texts) {
            producer.send(session.createTextMessage(text));
        }
        session.close();
    }

    @Test
    void withoutPrefetchAConsumerTakesNothingAhead() throws Exception {
        MessageConsumer idle = consumer(0);
        assertNull(idle.receiveNoWait());
        assertNull(idle.receive(SHORT));
        send("a", "b", "c");
        assertEquals("a", text(idle.receiveNoWait()));
        assertEquals(List.of("b", "c"), texts(consumer(0)));
        assertNull(idle.receiveNoWait());
    }

    @Test
    void withoutPrefetchAReceiverWaits() throws Exception {
        MessageConsumer consumer = consumer(0);
        Thread sender =
                new Thread(
                        () -> {
                            try {
                                Thread.sleep(100);
                                send("late");
                            } catch (Exception error) {
                                throw new IllegalStateException(error);
                            }
                        });
        sender.start();
        assertEquals("late", next(consumer).getText());
        sender.join();
    }

    @Test
    void aThousandAreFetchedAhead() throws Exception {
        sendMany();
        MessageConsumer consumer = consumer(1000);
        for (int n = 0; n < MANY; n++) {
            assertEquals("n" + n, next(consumer).getText());
        }
    }

    @Test
    void oneFetchedAheadLeavesTheRestToOthers() throws Exception {
        sendMany();
        List<MessageConsumer> consumers = List.of(consumer(1), consumer(1), consumer(1000));
        List<String> received = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            received.add(next(consumers.get(n % 2)).getText());
        }
        assertTrue(new HashSet<>(received).size() == 20);
    }
}
