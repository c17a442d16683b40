// A walk through what MQTT 5 has beyond messages, by way of MQTT.js. Says in one JSON line what it saw.
import mqtt from "mqtt";

const { url, topic } = JSON.parse(process.argv[2]);
const options = { protocolVersion: 5, reconnectPeriod: 0, connectTimeout: 10_000 };

function next(client) {
  return new Promise((done) => client.once("message", (name, payload, packet) => done({ name, payload, packet })));
}

const client = await mqtt.connectAsync(url, {
  ...options,
  properties: { topicAliasMaximum: 5, sessionExpiryInterval: 30 },
});
await client.subscribeAsync(`${topic}/#`, { qos: 2, properties: { subscriptionIdentifier: 9 } });

let message = next(client);
await client.publishAsync(`${topic}/question`, "?", {
  qos: 2,
  properties: {
    userProperties: { a: ["1", "2"] },
    responseTopic: "answers",
    correlationData: Buffer.from([0, 255]),
    contentType: "text/plain",
    topicAlias: 1,
  },
});
const { packet } = await message;
const properties = { ...packet.properties, correlationData: [...packet.properties.correlationData] };

const names = [];
for (const name of ["question", "question", "other", "other"]) {
  message = next(client);
  await client.publishAsync(`${topic}/${name}`, "x", { qos: 1 });
  names.push((await message).name);
}

// A will, by way of a connection that is cut.
message = next(client);
const mortal = await mqtt.connectAsync(url, { ...options, will: { topic: `${topic}/will`, payload: "gone", qos: 1 } });
mortal.on("error", () => {});
mortal.stream.destroy();
const will = (await message).payload.toString();

await client.publishAsync(`${topic}/kept`, "kept", { qos: 1, retain: true });
const later = await mqtt.connectAsync(url, options);
message = next(later);
await later.subscribeAsync(`${topic}/kept`, { qos: 1 });
const kept = await message;
await later.publishAsync(`${topic}/kept`, "", { qos: 1, retain: true });

await Promise.all([client.endAsync(), later.endAsync(), mortal.endAsync(true)]);
console.log(
  JSON.stringify({ properties, names, will, kept: [kept.payload.toString(), kept.packet.retain] }),
);
