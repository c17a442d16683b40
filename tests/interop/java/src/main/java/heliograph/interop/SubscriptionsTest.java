package heliograph.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jakarta.jms.Connection;
import jakarta.jms.InvalidDestinationException;
import jakarta.jms.JMSException;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import jakarta.jms.Topic;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SubscriptionsTest extends Broker {
    private void publish(String... texts) throws JMSException {
        Session session = session();
        MessageProducer producer = session.createProducer(topic(session));
        for (String text : texts) {
            TextMessage message = session.createTextMessage(text);
            message.setIntProperty("length", text.length());
            producer.send(message);
        }
        session.close();
    }

    private static Topic topic(Session session) throws JMSException {
        return session.createTopic(queue + "/news");
    }

    @Test
    void aSubscriberGetsWhatIsPublishedWhileItIsThere() throws Exception {
        publish("too early");
        Session session = session();
        MessageConsumer one = session.createConsumer(topic(session));
        MessageConsumer two = session.createConsumer(topic(session));
        publish("a");
        assertEquals(List.of("a"), texts(one));
        assertEquals(List.of("a"), texts(two));
    }

    @Test
    void aDurableSubscriptionOutlivesItsConnection() throws Exception {
        Connection first = connection(queue, "");
        Session session = first.createSession();
        session.createDurableSubscriber(topic(session), "sub");
        first.close();
        publish("meanwhile");
        Connection second = connection(queue, "");
        Session again = second.createSession();
        MessageConsumer consumer = again.createDurableConsumer(topic(again), "sub");
        assertEquals("meanwhile", next(consumer).getText());
        consumer.close();
        again.unsubscribe("sub");
        publish("lost");
        consumer = again.createDurableConsumer(topic(again), "sub");
        assertEquals(List.of(), texts(consumer));
        consumer.close();
        again.unsubscribe("sub");
    }

    @Test
    void whatIsInUseCannotBeUnsubscribed() throws Exception {
        Session session = connection(queue, "").createSession();
        MessageConsumer consumer = session.createDurableConsumer(topic(session), "sub");
        assertThrows(JMSException.class, () -> session.unsubscribe("sub"));
        publish("a");
        assertEquals("a", next(consumer).getText());
        consumer.close();
        session.unsubscribe("sub");
    }

    @Test
    void whatDoesNotExistCannotBeUnsubscribed() throws Exception {
        Session session = connection(queue, "").createSession();
        assertThrows(InvalidDestinationException.class, () -> session.unsubscribe("nobody"));
    }

    @Test
    void anotherSelectorMakesANewSubscription() throws Exception {
        Session session = connection(queue, "").createSession();
        session.createDurableConsumer(topic(session), "sub", "length > 1", false).close();
        publish("long");
        MessageConsumer consumer = session.createDurableConsumer(topic(session), "sub", "length = 1", false);
        publish("x", "longer");
        assertEquals(List.of("x"), texts(consumer));
        consumer.close();
        session.unsubscribe("sub");
    }

    @Test
    void noLocalLeavesOutOnesOwn() throws Exception {
        Session session = connection(queue, "").createSession();
        MessageConsumer consumer = session.createConsumer(topic(session), null, true);
        session.createProducer(topic(session)).send(session.createTextMessage("own"));
        publish("other");
        assertEquals(List.of("other"), texts(consumer));
    }

    @Test
    void sharersShare() throws Exception {
        Session one = session();
        Session two = session();
        MessageConsumer first = one.createSharedConsumer(topic(one), "shared-" + queue);
        MessageConsumer second = two.createSharedConsumer(topic(two), "shared-" + queue);
        assertShared(first, second);
    }

    @Test
    void durableSharersShareAndLeaveTheirSubscription() throws Exception {
        Connection connection = connection(queue, "");
        Session one = connection.createSession();
        Session two = connection.createSession();
        MessageConsumer first = one.createSharedDurableConsumer(topic(one), "sub");
        MessageConsumer second = two.createSharedDurableConsumer(topic(two), "sub");
        assertShared(first, second);
        first.close();
        assertThrows(JMSException.class, () -> one.unsubscribe("sub"));
        second.close();
        publish("meanwhile");
        MessageConsumer later = one.createSharedDurableConsumer(topic(one), "sub");
        assertEquals("meanwhile", next(later).getText());
        later.close();
        one.unsubscribe("sub");
        assertThrows(InvalidDestinationException.class, () -> one.unsubscribe("sub"));
    }

    @Test
    void durableSharersWithoutClientIdShareAcrossConnections() throws Exception {
        Session one = session();
        Session two = session();
        String name = "global-" + queue;
        MessageConsumer first = one.createSharedDurableConsumer(topic(one), name);
        MessageConsumer second = two.createSharedDurableConsumer(topic(two), name);
        assertShared(first, second);
        first.close();
        second.close();
        two.unsubscribe(name);
    }

    private void assertShared(MessageConsumer first, MessageConsumer second) throws JMSException {
        String[] texts = new String[100];
        Set<String> sent = new HashSet<>();
        for (int n = 0; n < texts.length; n++) {
            texts[n] = "number " + n;
            sent.add(texts[n]);
        }
        publish(texts);
        List<String> received = new ArrayList<>();
        MessageConsumer[] consumers = {first, second};
        for (int n = 0; received.size() < texts.length; n++) {
            var message = consumers[n % 2].receive(SHORT);
            if (message != null) {
                received.add(text(message));
            } else if (n > 10 * texts.length) {
                break;
            }
        }
        assertEquals(texts.length, received.size());
        assertEquals(sent, new HashSet<>(received));
    }
}
