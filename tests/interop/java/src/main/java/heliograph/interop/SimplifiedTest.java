package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.jms.CompletionListener;
import jakarta.jms.DeliveryMode;
import jakarta.jms.JMSConsumer;
import jakarta.jms.JMSContext;
import jakarta.jms.Message;
import jakarta.jms.Queue;
import jakarta.jms.Topic;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.qpid.jms.JmsConnectionFactory;
import org.junit.jupiter.api.Test;

/** The simplified API of JMS 2.0. */
class SimplifiedTest extends Broker {
    private static JMSContext context(int mode) {
        return new JmsConnectionFactory(url).createContext(mode);
    }

    @Test
    void aContextSendsAndReceives() {
        try (JMSContext context = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Queue own = context.createQueue(queue);
            context.createProducer()
                    .setProperty("size", 2)
                    .setPriority(7)
                    .setTimeToLive(60_000)
                    .setDeliveryMode(DeliveryMode.NON_PERSISTENT)
                    .setJMSCorrelationID("c")
                    .send(own, "two chairs");
            context.createProducer().send(own, Map.of("chairs", 2));
            JMSConsumer consumer = context.createConsumer(own, "size = 2");
            assertEquals("two chairs", consumer.receiveBody(String.class, PATIENCE));
            consumer.close();
            assertEquals(Map.of("chairs", 2), context.createConsumer(own).receiveBody(Map.class, PATIENCE));
        }
    }

    @Test
    void aTransactedContextCommitsAndRollsBack() {
        try (JMSContext context = context(JMSContext.SESSION_TRANSACTED);
                JMSContext other = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Queue own = context.createQueue(queue);
            context.createProducer().send(own, "never");
            context.rollback();
            context.createProducer().send(own, "a");
            context.commit();
            JMSConsumer consumer = other.createConsumer(own);
            assertEquals("a", consumer.receiveBody(String.class, PATIENCE));
            assertNull(consumer.receiveBody(String.class, SHORT));
        }
    }

    @Test
    void sharedDurableConsumersOfAContext() {
        String name = "simplified-" + queue;
        try (JMSContext context = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Topic topic = context.createTopic(queue + "/news");
            context.createSharedDurableConsumer(topic, name).close();
            context.createProducer().send(topic, "meanwhile");
            JMSConsumer consumer = context.createSharedDurableConsumer(topic, name);
            assertEquals("meanwhile", consumer.receiveBody(String.class, PATIENCE));
            consumer.close();
            context.unsubscribe(name);
        }
    }

    @Test
    void asynchronousSendsAreConfirmed() throws Exception {
        int many = 500;
        CountDownLatch confirmed = new CountDownLatch(many);
        AtomicReference<Exception> failure = new AtomicReference<>();
        CompletionListener listener =
                new CompletionListener() {
                    @Override
                    public void onCompletion(Message message) {
                        confirmed.countDown();
                    }

                    @Override
                    public void onException(Message message, Exception error) {
                        failure.set(error);
                    }
                };
        try (JMSContext context = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Queue own = context.createQueue(queue);
            for (int n = 0; n < many; n++) {
                context.createProducer().setAsync(listener).send(own, "n" + n);
            }
            assertTrue(confirmed.await(PATIENCE, TimeUnit.MILLISECONDS), () -> "not confirmed: " + failure.get());
            assertEquals("n0", context.createConsumer(own).receiveBody(String.class, PATIENCE));
        }
    }

    @Test
    void asynchronousSendsToAFullQueueFail() throws Exception {
        // The test's queue holds ten messages: see the Python side.
        CountDownLatch refused = new CountDownLatch(1);
        CompletionListener listener =
                new CompletionListener() {
                    @Override
                    public void onCompletion(Message message) {}

                    @Override
                    public void onException(Message message, Exception error) {
                        refused.countDown();
                    }
                };
        try (JMSContext context = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Queue own = context.createQueue(queue + ".small");
            for (int n = 0; n < 11; n++) {
                context.createProducer().setAsync(listener).send(own, "n" + n);
            }
            assertTrue(refused.await(PATIENCE, TimeUnit.MILLISECONDS), "the eleventh message was not refused");
        }
    }

    @Test
    void contextsShareAConnection() {
        try (JMSContext context = context(JMSContext.AUTO_ACKNOWLEDGE)) {
            Queue own = context.createQueue(queue);
            try (JMSContext second = context.createContext(JMSContext.CLIENT_ACKNOWLEDGE)) {
                second.createProducer().send(own, "a");
                JMSConsumer consumer = second.createConsumer(own);
                assertEquals("a", consumer.receiveBody(String.class, PATIENCE));
                second.acknowledge();
            }
            assertNull(context.createConsumer(own).receiveBody(String.class, SHORT));
        }
    }
}
