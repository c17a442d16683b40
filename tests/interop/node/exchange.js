// What MQTT.js sends through the server must come back whole and in order. Told by one JSON argument what to do; says
// in one JSON line what came of it. Where the certificate authority is not a public one, NODE_EXTRA_CA_CERTS names it.
import { createHash } from "node:crypto";
import mqtt from "mqtt";

const { url, protocolVersion, topic, qos, count, size } = JSON.parse(process.argv[2]);
const options = { protocolVersion, reconnectPeriod: 0, connectTimeout: 10_000 };

function payload(number) {
  const bytes = Buffer.alloc(size, number % 251);
  return Buffer.concat([Buffer.from(`${number} `), bytes]);
}

const receiver = await mqtt.connectAsync(url, options);
const [granted] = await receiver.subscribeAsync(topic, { qos });
const digest = createHash("sha256");
let received = 0;
const all = new Promise((done) => {
  receiver.on("message", (_topic, message) => {
    digest.update(message);
    received += 1;
    if (received === count) done();
  });
});

const sender = await mqtt.connectAsync(url, options);
const expected = createHash("sha256");
const sent = [];
for (let number = 0; number < count; number += 1) {
  const message = payload(number);
  expected.update(message);
  sent.push(sender.publishAsync(topic, message, { qos }));
}
await Promise.all(sent);
await all;
await Promise.all([sender.endAsync(), receiver.endAsync()]);

const whole = digest.digest("hex") === expected.digest("hex");
console.log(JSON.stringify({ granted: granted.qos, received, whole }));
